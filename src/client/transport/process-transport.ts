import { basename } from "node:path";
import type { Writable } from "node:stream";
import type { ChildProcess } from "node:child_process";
import {
  type Transport,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type JSONRPCMessage,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import spawn from "cross-spawn";
import type { ClientClock } from "../clock.ts";
import type { AnswerBounds } from "./server-sent-events.ts";
import { TaskClientError } from "../task-client-error.ts";
import { ProcessGroup } from "./process-group.ts";
import { deliverMessages, LineBuffer } from "./wire-messages.ts";
import { environmentOf, type ServerProcess } from "./server-process.ts";

/** How much of the end of a process's stderr its errors show, in characters. */
const tailLength = 1_000;

/** Between how a process ended and what it wrote last. */
export const stderrMark = ". Its stderr ended with:\n";

/** How long what a process wrote last to its stderr may take to arrive, in ms. */
const lastWordsMs = 200;

/** How long a process may take to end after it has closed its stdin or stdout, in ms. Those that end do so at about the same time. */
const lastMomentsMs = 2_000;

/** A stdio transport that ends the process with everything it started; the SDK's ends only the process itself. */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #server: ServerProcess;
  readonly #clock: ClientClock;
  readonly #bounds: AnswerBounds;
  readonly #lines: LineBuffer;
  /** The end of what the process has written to its stderr. */
  #tail = "";
  /** How the process, or its connection, ended; undefined while it runs. */
  #exit: string | undefined;
  #isOver = false;
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  #draining: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(server: ServerProcess, clock: ClientClock, bounds: AnswerBounds) {
    this.#server = server;
    this.#clock = clock;
    this.#bounds = bounds;
    this.#lines = new LineBuffer(bounds.maxAnswerBytes);
  }

  /** How the process, or its connection, ended by itself, and what it said last; undefined while it runs. */
  get ending(): string | undefined {
    if (this.#exit === undefined) return undefined;
    const said = this.#tail.trim();
    const program = basename(this.#server.command);
    return `The server's process (${program}) ${this.#exit}${said === "" ? "" : `${stderrMark}${said}`}`;
  }

  async start(): Promise<void> {
    const { command, args = [], env = {}, cwd, stderr = "inherit" } = this.#server;
    const child = spawn(command, args, {
      ...ProcessGroup.spawnOptions,
      env: environmentOf(env, getDefaultEnvironment()),
      stdio: ["pipe", "pipe", typeof stderr === "object" || typeof stderr === "number" ? stderr : "pipe"],
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    });
    this.#child = child;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onError = (error: Error): void => this.onerror?.(error);
    child.on("error", (error) => {
      Reflect.deleteProperty(error, "spawnargs"); // they may have secrets, and errors are printed with all that they have
      reject(error);
      onError(error);
    });
    child.on("spawn", () => resolve());
    child.on("close", (code, signal) => {
      this.#child = undefined;
      this.#over(signal === null ? `exited with code ${code ?? "unknown"}` : `was ended by ${signal}`);
    });
    child.stdin?.on("error", (error) => {
      onError(error);
      this.#endSoon(child, "no longer reads its stdin");
    });
    child.stdout?.on("close", () => this.#endSoon(child, "closed its stdout"));
    child.stdout?.on("error", onError);
    child.stdout?.on("data", (bytes: Buffer) => this.#read(bytes));
    const decoder = new TextDecoder();
    child.stderr?.on("data", (bytes: Uint8Array) => {
      const text = decoder.decode(bytes, { stream: true });
      this.#tail = (this.#tail + text).slice(-tailLength);
      if (typeof stderr === "function") stderr(text);
      else if (stderr === "inherit") process.stderr.write(bytes, onStderrError);
    });
    child.on("exit", () => void this.#dropStderr(child));
    await promise;
    this.#group = new ProcessGroup(child, this.#clock);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin == null) throw new SdkError(SdkErrorCode.NotConnected, "Not connected");
    if (!stdin.write(serializeMessage(message))) await this.#drained(stdin);
  }

  /** Resolves when the process has read what was written, or its pipe is closed. All sends share this wait, and its listeners. */
  async #drained(stdin: Writable): Promise<void> {
    await (this.#draining ??= new Promise((resolve) => {
      const end = (): void => {
        stdin.off("drain", end).off("close", end);
        this.#draining = undefined;
        resolve();
      };
      stdin.on("drain", end).on("close", end);
      if (stdin.destroyed) queueMicrotask(end);
    }));
  }

  /** Resolves when the processes have ended, or survived SIGKILL. They no longer keep this process alive then. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#end());
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    child?.stdin?.end();
    await this.#group?.end();
    // A descendant that left the group can hold the pipes open.
    for (const pipe of [child?.stdin, child?.stdout, child?.stderr]) pipe?.destroy();
    child?.unref();
    this.#lines.clear();
  }

  /** A process that can be asked nothing, or can answer nothing, is of no use. */
  #endSoon(child: ChildProcess, how: string): void {
    const deadline = this.#clock.deadline(lastMomentsMs);
    child.once("close", () => deadline.clear());
    const end = (): void => (this.#closing === undefined ? this.#over(how) : undefined);
    deadline.signal.addEventListener("abort", end, { once: true });
  }

  #over(how: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#closing === undefined) this.#exit = how;
    this.onclose?.();
    void this.close(); // its descendants may still run
  }

  /** A descendant that goes on after the process may hold its stderr, which says nothing of the connection: stdout alone does. */
  async #dropStderr({ stdout, stderr }: ChildProcess): Promise<void> {
    if (stdout?.closed === false) await new Promise((resolve) => stdout.once("close", resolve));
    if (stderr?.closed !== false) return;
    const deadline = this.#clock.deadline(lastWordsMs);
    deadline.signal.addEventListener("abort", () => stderr.destroy(), { once: true });
    stderr.once("close", () => deadline.clear());
  }

  #read(bytes: Buffer): void {
    let lines: readonly string[];
    try {
      this.#bounds.arrived(bytes.length);
      lines = this.#lines.after(bytes);
    } catch (error) {
      const failure = error instanceof TaskClientError ? error : this.#bounds.tooLong();
      this.#bounds.failure = failure;
      this.#fault(failure);
      void this.close();
      return;
    }
    for (const line of lines) this.#deliver(line);
  }

  #deliver(line: string): void {
    if (line.trim() === "") return;
    deliverMessages(
      line,
      (message) => this.onmessage?.(message),
      (error) => this.#fault(error),
    );
  }

  #fault(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Whoever read this process's stderr may be gone: then what the server writes there is lost, as it is for a process that inherits it. */
function onStderrError(error?: Error | null): void {
  if (error != null) process.stderr.off("error", ignore).once("error", ignore);
}

function ignore(): void {}
