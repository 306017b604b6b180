import { type ExitCode, exitCodes, exitCodeOf, Stopped, UsageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { sanitizeText } from "../terminal/text.ts";
import { wrappedNote } from "./table.ts";
import { isJsonObject } from "../../generation/message.ts";
import { shownAddress } from "../../generation/web-address.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { describeCause, TaskClientError, type TaskClientErrorCode } from "../../client/task-client-error.ts";
import { HoldfastError } from "../../task/fault.ts";
import { cutText } from "../../task/stored-text.ts";
import type { ErrorJson } from "./json-shapes.ts";

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
  #begun: Promise<void> = Promise.resolve();

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

  /** Begins to write what a library prints, which does not wait for it: `written` does. */
  begin(text: string): void {
    this.#begun = this.#begun.then(async () => this.#write(text));
    this.#begun.catch(() => undefined);
  }

  /** Rejects if what was begun could not be written. */
  async written(): Promise<void> {
    await this.#begun;
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

/** The error codes for a call whose user has to visit URLs first. 2026-07-28 has none for that; Holdfast servers send -32603. */
const codes: readonly number[] = [-32042, -32603];

/** The URLs that the user has to visit before calling again, one per line; empty for other errors. */
export function urlsToVisit({ code, data }: JsonRpcError): string {
  const asked: unknown = isJsonObject(data) ? data["elicitations"] : undefined;
  if (!codes.includes(code) || !Array.isArray(asked)) return "";
  const lines = asked.map((elicitation: unknown) => {
    const { message, url } = isJsonObject(elicitation) ? elicitation : {};
    const prefix = typeof message === "string" ? `${message} ` : "";
    return typeof url === "string" ? `\n  ${prefix}${shownAddress(url)}` : "";
  });
  return `\nVisit, and then call again:${lines.join("")}`;
}

/** How much of an error's data to show, in code points. */
const mostData = 2_000;

/** On a line of its own, what a server says beside its message; without what is for clients, and the URLs that `urlsToVisit` shows. */
export function dataOf(error: JsonRpcError): string {
  const { data } = error;
  if (data === undefined || data === null || urlsToVisit(error) !== "") return "";
  if (typeof data === "string") return `\n${cutText(data, mostData)}`;
  const isForClients = (name: string): boolean => name === "retryAfterMs" || name.startsWith("holdfast/");
  const shown = isJsonObject(data)
    ? Object.fromEntries(Object.entries(data).filter(([name]) => !isForClients(name)))
    : data;
  const text = JSON.stringify(shown);
  return text === "{}" ? "" : `\n${cutText(text, mostData)}`;
}

/** Prints why a command failed: on stderr, or as JSON on stdout. Returns the exit code. */
export async function reportFailure(error: unknown, output: Output): Promise<ExitCode> {
  const { exitCode, ...details } = describe(error);
  if (output.json) {
    const document: ErrorJson = { error: details, exitCode };
    await output.printJson(document, { line: true }).catch(() => undefined);
  } else if (!(error instanceof Stopped && error.wasShown)) {
    const code = codeOf(error);
    const more = code === undefined ? "" : `\nMore about this error:\n  holdfast docs ${code}`;
    const { kind, rpc } = details;
    // What is missing, the message says already.
    const data = rpc === undefined || kind === "missing_capability" ? "" : dataOf(rpc);
    output.note(`holdfast: ${details.message}${data}${more}`);
  }
  return exitCode;
}

/** What `holdfast docs` explains of an error. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const known = [error, error.cause].find((each) => each instanceof HoldfastError);
  if (known instanceof HoldfastError) return known.code;
  return error instanceof TaskClientError && !saysAll.has(error.code) ? error.code : undefined;
}

/** What the user or the tool did, or did not do, about which there is no more to read. */
const saysAll: ReadonlySet<TaskClientErrorCode> = new Set([
  "failed",
  "cancelled",
  "rpc",
  "timeout",
  "unanswered",
  "aborted",
  "closed",
]);

function describe(error: unknown): ErrorJson["error"] & { readonly exitCode: ExitCode } {
  if (error instanceof UsageError) {
    return { kind: "usage", message: error.message, exitCode: exitCodes.usage };
  }
  if (error instanceof Stopped) {
    const { message, taskId, exitCode } = error;
    return { kind: "stopped", message, ...(taskId !== undefined && { id: taskId }), exitCode };
  }
  if (error instanceof TaskClientError) {
    const { code, taskId, error: rpc } = error;
    // For the state folder the cause matters, such as a full disk.
    const text = code === "handles" ? describeCause(error) : error.message;
    const message = rpc === undefined ? text : `${text}${urlsToVisit(rpc)}`;
    return {
      kind: code,
      message,
      ...(taskId !== undefined && { id: taskId }),
      ...(rpc !== undefined && { rpc }),
      exitCode: exitCodeOf(code),
    };
  }
  const problem = systemProblem(error);
  if (problem !== undefined) return { kind: "system", message: problem, exitCode: exitCodes.system };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error); // the stack of a bug helps
  return { kind: "fault", message, exitCode: exitCodes.fault };
}

/** What the system refused, or SQLite for the state; undefined for other errors. */
function systemProblem(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("syscall" in error) return error.message;
  const isOfState = "code" in error && error.code === "ERR_SQLITE_ERROR";
  return isOfState
    ? `The state cannot be kept: ${error.message}. HOLDFAST_STATE names its folder.`
    : undefined;
}
