import type { Display } from "../../../src/cli/terminal/terminal.ts";

/** Keeps what a person was told, a line for each call. */
export class RecordedDisplay implements Display {
  readonly lines: string[] = [];
  /** Called with each line as it is kept. */
  onLine: (line: string) => void = () => {};

  doing(what: string): void {
    this.#keep(`doing: ${what}`);
  }

  task({ status }: { status: string }): void {
    this.#keep(`task: ${status}`);
  }

  progress({ progress }: { progress: number }): void {
    this.#keep(`progress: ${progress}`);
  }

  say(text: string): void {
    this.#keep(`say: ${text}`);
  }

  suspend(): Disposable {
    this.#keep("suspended");
    return { [Symbol.dispose]: () => this.#keep("resumed") };
  }

  end({ kind, text }: { kind: string; text: string }): void {
    this.#keep(`${kind}: ${text}`);
  }

  #keep(line: string): void {
    this.lines.push(line);
    this.onLine(line);
  }
}
