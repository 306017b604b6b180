import { appendFileSync, existsSync, watch } from "node:fs";
import { join } from "node:path";

/** What a server tells its test, and waits for, in the folder of its `Signals`. */
export class Gates {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Steps as they begin, and points between them in parentheses. Synchronous, so that the line comes before what follows. */
  log(line: string): void {
    appendFileSync(join(this.#folder, "log"), `${line}\n`);
  }

  isOpen(word: string): boolean {
    return existsSync(join(this.#folder, `${word}.open`));
  }

  /** Resolves when the test has opened the gate of this word. */
  async opened(word: string, signal: AbortSignal): Promise<void> {
    const opened = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.isOpen(word)) opened.resolve();
    };
    const watcher = watch(this.#folder, look);
    signal.addEventListener("abort", () => opened.reject(signal.reason as Error));
    look();
    await opened.promise.finally(() => watcher.close());
  }
}
