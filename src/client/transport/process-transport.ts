import { basename, win32 } from "node:path";
import type { Writable, Stream } from "node:stream";
import { type ChildProcess, spawn as spawnPlainly } from "node:child_process";
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
import { NotAMessage, PipeMessages } from "./wire-messages.ts";
import { Socket } from "node:net";

/** The pause between closing stdin, SIGTERM and SIGKILL. */
const graceMs = 2_000;
const lookMs = 20;

const hasGroups = process.platform !== "win32";

/**
 * Waits until the process that started it ends in any way, and then ends the group `$1` as `end` does. A line on
 * stdin tells it to exit at once.
 */
const guard = `read -r over && exit
sleep ${graceMs / 1000}
kill -s TERM -- "-$1" && sleep ${graceMs / 1000} && kill -s KILL -- "-$1"`;

/**
 * A process and everything that it started. Ending only a wrapper (`npx`, `uvx`, `sh -c`) would leave the server
 * running. On POSIX the process has its own process group, so the terminal's Ctrl-C does not reach it; a guard
 * process ends the group if this process dies first.
 */
class ProcessGroup {
  /** Options for `spawn`. */
  static readonly spawnOptions = { detached: hasGroups } as const;
  readonly #leader: ChildProcess;
  readonly #clock: ClientClock;
  readonly #guard: ChildProcess | undefined;

  constructor(leader: ChildProcess, clock: ClientClock) {
    this.#leader = leader;
    this.#clock = clock;
    const { pid } = leader;
    if (hasGroups && pid !== undefined) this.#guard = startGuard(pid);
  }

  /** Waits for the processes to end by themselves, then ends them by SIGTERM, and then by SIGKILL. */
  async end(): Promise<void> {
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#ends()) break;
      await this.#send(signal);
    }
    if (!this.#leaderHasEnded) await this.#ends();
    this.#guard?.stdin?.end("\n");
  }

  /** Whether all processes ended within the grace period. */
  async #ends(): Promise<boolean> {
    const deadline = this.#clock.deadline(graceMs);
    try {
      while (this.#isAlive()) await this.#clock.sleep(lookMs, deadline.signal);
      return true;
    } catch {
      return false;
    } finally {
      deadline.clear();
    }
  }

  get #leaderHasEnded(): boolean {
    const { pid, exitCode, signalCode } = this.#leader;
    return pid === undefined || exitCode !== null || signalCode !== null;
  }

  #isAlive(): boolean {
    if (!this.#leaderHasEnded) return true;
    return hasGroups && this.#signalGroup(0);
  }

  /** Returns whether the group still exists. */
  #signalGroup(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#leader;
    if (pid === undefined) return false;
    try {
      return process.kill(-pid, signal);
    } catch (error) {
      return error instanceof Error && "code" in error && error.code === "EPERM";
    }
  }

  async #send(signal: NodeJS.Signals): Promise<void> {
    if (hasGroups) this.#signalGroup(signal);
    else await killTree(this.#leader);
  }
}

function startGuard(pid: number): ChildProcess {
  const child = spawnPlainly("/bin/sh", ["-c", guard, "holdfast-guard", String(pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Without a shell there is no guard; most servers exit when their stdin closes.
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  child.unref();
  if (child.stdin instanceof Socket) child.stdin.unref();
  return child;
}

/** Windows has no signals: `taskkill` ends the process and its descendants. */
async function killTree({ pid }: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const child = spawnPlainly(
    systemProgram("taskkill.exe", getDefaultEnvironment()),
    ["/pid", String(pid), "/t", "/f"],
    {
      stdio: "ignore",
      windowsHide: true,
    },
  );
  child.on("error", () => resolve());
  child.on("close", () => resolve());
  await promise;
}

/** The full path of a Windows program: a bare name would first be looked up in the working directory, which anyone may control. */
export function systemProgram(name: string, env: Readonly<Record<string, string | undefined>>): string {
  return win32.join(env["SYSTEMROOT"] || "C:\\Windows", "System32", name);
}

/** A server to start as a process. It speaks over its stdin and stdout. */
export interface ServerProcess {
  /** Started without a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few variables that the SDK passes on, such as PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Where its stderr goes. A function is called with each piece of text. Default `"inherit"`: this process's stderr. */
  readonly stderr?: "inherit" | "ignore" | Stream | number | ((text: string) => void);
}

/**
 * The variables of the process: the given ones and the `defaults`. Windows does not distinguish `Path` from `PATH`, and would use the
 * spelling that sorts first, even if that is the default.
 */
export function environmentOf(
  given: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const nameOf = (name: string): string => (platform === "win32" ? name.toUpperCase() : name);
  const named = new Set(Object.keys(given).map(nameOf));
  const others = Object.entries(defaults).filter(([name]) => !named.has(nameOf(name)));
  return { ...Object.fromEntries(others), ...given };
}

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
  readonly #messages: PipeMessages;
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
    this.#messages = new PipeMessages(bounds.maxAnswerBytes);
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
    child.stdout?.on("end", () => this.#read(Buffer.from("\n"))); // the last line of some has no end
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
    this.#messages.clear();
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
    let found: ReturnType<PipeMessages["after"]>;
    try {
      this.#bounds.arrived(bytes.length);
      found = this.#messages.after(bytes);
    } catch (error) {
      const failure = error instanceof TaskClientError ? error : this.#bounds.tooLong();
      this.#bounds.failure = failure;
      this.#fault(failure);
      void this.close();
      return;
    }
    for (const each of found) this.#deliver(each);
  }

  #deliver(found: JSONRPCMessage | NotAMessage): void {
    if (found instanceof NotAMessage) return this.#fault(found);
    try {
      this.onmessage?.(found);
    } catch (error) {
      this.#fault(error);
    }
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
