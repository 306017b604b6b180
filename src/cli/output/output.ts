import type { Io } from "../io.ts";
import { sanitizeText } from "../terminal/sanitize.ts";

/** Nobody reads stdout any more. */
export class BrokenPipe extends Error {
  override readonly name = "BrokenPipe";
}

/** What a command was asked for goes to stdout, and all else to stderr. */
export class Output {
  readonly json: boolean;
  readonly #io: Io;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
  }

  get isTerminal(): boolean {
    return this.#io.stdout.isTTY;
  }

  /** A server's text: safe for a terminal, and as it came for a program. */
  async print(text: string): Promise<void> {
    await this.#write(this.#io.stdout.isTTY ? sanitizeText(text) : text);
  }

  /** One JSON document: indented for people, in one line for programs, or where it is one of several. */
  async printJson(document: object, { line = false } = {}): Promise<void> {
    // JSON escapes C0 only, and a terminal obeys more than that.
    const text = JSON.stringify(document, undefined, line || !this.#io.stdout.isTTY ? undefined : 2);
    await this.#write(`${this.#io.stdout.isTTY ? sanitizeText(text) : text}\n`);
  }

  /** For people, on stderr. */
  tell(text: string): void {
    this.#io.stderr.write(`${sanitizeText(text)}\n`);
  }

  async #write(text: string): Promise<void> {
    const { stdout } = this.#io;
    await new Promise<void>((resolve, reject) => {
      stdout.write(text, (error) => {
        if (error == null) resolve();
        else if ("code" in error && error.code === "EPIPE") reject(new BrokenPipe());
        else reject(error);
      });
    });
  }
}
