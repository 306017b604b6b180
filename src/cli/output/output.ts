import { type ExitCode, exitCodes } from "../errors.ts";
import type { Io } from "../io.ts";
import { sanitizeText } from "../terminal/text.ts";
import { wrappedNote } from "./table.ts";

/** The reader closed stdout. */
export class BrokenPipe extends Error {
  override readonly name = "BrokenPipe";
}

/** What a command has to say when it is done, or each time that it has something. */
export interface Said {
  readonly json: object;
  /** Whether it is one of several JSON documents, one per line. */
  readonly line?: boolean | undefined;
  /** On stdout, without `--json`. Bytes are for pipes and files, which get them unchanged. */
  readonly text?: string | Uint8Array;
  /** How many characters of the text to print. Default: all. */
  readonly maxChars?: number | undefined;
  /** On stderr, without `--json`. */
  readonly notes?: readonly (string | false)[];
  /** On stderr, whatever stdout is for. */
  readonly warnings?: readonly (string | false)[];
  readonly code?: ExitCode;
}

/** Writes results to stdout, and everything else to stderr. */
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

  /** The width of the terminal; undefined for a program. */
  get columns(): number | undefined {
    return this.#io.stdout.isTTY ? this.#io.stdout.columns : undefined;
  }

  /** Prints a server's text: sanitized for a terminal, unchanged for a program. */
  async print(text: string): Promise<void> {
    if (text === "") return;
    await this.#write(this.#io.stdout.isTTY ? sanitizeText(text) : text);
  }

  /** Prints a JSON document: indented on a terminal; on one line for programs, or with `line`. */
  async printJson(document: object, { line = false } = {}): Promise<void> {
    // JSON escapes only C0 control characters; terminals interpret others too.
    const text = JSON.stringify(document, undefined, line || !this.#io.stdout.isTTY ? undefined : 2);
    await this.#write(`${this.#io.stdout.isTTY ? sanitizeText(text) : text}\n`);
  }

  /** Prints it, and returns the exit code. */
  async say(said: Said): Promise<ExitCode> {
    const { json, line = false, text = "", maxChars = Infinity } = said;
    const { notes = [], warnings = [], code = exitCodes.done } = said;
    if (this.json) await this.printJson(json, { line });
    else if (typeof text !== "string") await this.#write(text);
    else if (text.length <= maxChars) await this.print(text);
    else {
      await this.print(`${text.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, "")}\n`);
      this.note(
        `holdfast: these are the first ${maxChars} of ${text.length} characters, as --max-chars says`,
      );
    }
    for (const note of [...warnings, ...(this.json ? [] : notes)])
      if (typeof note === "string") this.note(note);
    return code;
  }

  /** Prints a line for people on stderr. */
  note(text: string): void {
    const { stderr } = this.#io;
    const line = sanitizeText(text);
    stderr.write(`${stderr.isTTY ? wrappedNote(line, stderr.columns) : line}\n`);
  }

  async #write(text: string | Uint8Array): Promise<void> {
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
