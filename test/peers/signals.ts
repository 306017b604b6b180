import { existsSync, mkdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What a test and the processes of its servers tell each other, in files of a folder; the servers' side is `gates.ts`. */
export class Signals {
  readonly folder: string;

  constructor(parent: string) {
    this.folder = join(parent, "signals");
    mkdirSync(this.folder);
  }

  /** Lets the handlers of this word go on. */
  openGate(word: string): void {
    writeFileSync(join(this.folder, `${word}.open`), "");
  }

  /** The steps that the processes ran for this word, in order. */
  stepsOf(word: string): readonly string[] {
    return this.eventsOf(word).filter((event) => !event.startsWith("("));
  }

  /** Resolves when a handler has written so many times that this step began, or that it is at this point: `(waits)`. */
  async logged(event: string, word: string, times = 1): Promise<void> {
    const found = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.eventsOf(word).filter((each) => each === event).length >= times) found.resolve();
    };
    const watcher = watch(this.folder, look);
    look();
    await found.promise.finally(() => watcher.close());
  }

  eventsOf(word: string): readonly string[] {
    const path = join(this.folder, "log");
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.filter((line) => line.endsWith(` ${word}`)).map((line) => line.slice(0, -word.length - 1));
  }
}
