import type { ClientCapabilities, Progress } from "@modelcontextprotocol/client";
import type { OnInput } from "../../client/question/ask-user.ts";
import type { RemoteTask } from "../../client/task/remote-task.ts";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Io } from "../io.ts";

/** The task of a command, once there is one. */
export interface ShownTask {
  readonly taskId: string;
  /** Missing for a task that was started elsewhere. */
  readonly tool: string | undefined;
  /** The command to return to it, such as `holdfast watch 01ab…`. */
  readonly watchCommand: string;
  /** Epoch milliseconds by this machine's clock; missing for a task that was started elsewhere. */
  readonly startedAt?: number | undefined;
  /** Whether its server is a process of this command, which ends with it. Default false. */
  readonly serverEnds?: boolean;
}

/** What happens to the task after the command ends, and how to return to it. */
export function howToResume({ watchCommand, serverEnds }: ShownTask): string {
  return serverEnds === true
    ? `Its server stops with this command. If it keeps tasks in memory, the task is lost; if it keeps them on disk, come back to the task with:\n  ${watchCommand}`
    : `The task continues. Come back to it with:\n  ${watchCommand}`;
}

/**
 * What a command leaves behind if it stops while it has no task to wait for. `request`: nothing. `call`: the server may have started it.
 * Otherwise how to return to the task or call.
 */
export type Unfinished = "request" | "call" | { readonly watchCommand: string };

/** What happens to it after the command has ended, to follow "Gave up" or "Timed out". */
export function whatIsLeft(unfinished: Unfinished): string {
  if (unfinished === "request") return "before the server answered.";
  if (unfinished === "call")
    return "before the call became a task, so there is nothing to come back to. The server may still be doing the work.";
  return `before the server answered. To come back to the task:\n  ${unfinished.watchCommand}`;
}

/** Who asks a question: "reports, tool render,". */
export function askerLabel(server: string, tool: string | undefined): string {
  return tool === undefined ? server : `${server}, tool ${tool},`;
}

/**
 * Shows on stderr what happens while a command runs. The command prints results itself, after `end`. Texts are
 * unsanitized: the display passes them through `sanitizeText`.
 */
export interface Display {
  connecting(server: string): void;
  connected(): void;
  /** A tool is called; it may or may not become a task. */
  calling(tool: string): void;
  /** There is a task, and it is stored: other commands can find it from now on. */
  started(task: ShownTask): void;
  /** Each state of the task, the last one too. */
  update(task: RemoteTask): void;
  progress(progress: Progress): void;
  /** Why there is no news of the task or the call at the moment; undefined once the server answers again. */
  trouble(text: string | undefined): void;
  /** The tool that asks, if no call has named it. */
  about(tool: string | undefined): void;
  /** Prints a line that contains no text from the server. */
  note(line: string): void;
  /** Hides the live line while something else is printed, until the result is disposed. */
  suspend(): Disposable;
  /** Removes the live line before the result or an error. Can be called several times. */
  end(): void;
}

/** Ctrl-C and SIGTERM, while a command waits. */
export interface Interrupts {
  /** Aborts on the first Ctrl-C and on SIGTERM. */
  readonly signal: AbortSignal;
  /** Aborts on SIGTERM. */
  readonly terminated: AbortSignal;
  /**
   * After the first interrupt: tells the user how to return to the task. Resolves with `"cancel"` if a second Ctrl-C
   * follows soon, otherwise with `"detach"`. A third ends the process.
   */
  decide(task: ShownTask): Promise<"detach" | "cancel">;
  /** After an interrupt while there is no task to wait for: prints the line in place of the live one. */
  giveUp(line: string): void;
}

/** What a command can show and ask: on a terminal, or on plain streams without a user. */
export interface Terminal {
  readonly display: Display;
  /** Answers the server's questions. Rejects with `Unanswered` if a question stays open. */
  readonly askUser: OnInput;
  /** Whether a user can be asked. */
  readonly isInteractive: boolean;
  /** The capabilities for `askUser`, declared to the server. */
  readonly capabilities: ClientCapabilities;
  readonly interrupts: Interrupts;
  /** Releases signals and streams. */
  close(): void;
}

/**
 * Whether this process may read keys from its terminal: the system stops a background process that tries (`&`, or `bg` after Ctrl-Z).
 * True if unknown.
 */
export function isInForeground(): boolean {
  if (process.platform === "win32") return true;
  try {
    const { own, foreground } = process.platform === "linux" ? groupsOfLinux() : groupsByPs();
    return !(foreground > 0) || foreground === own;
  } catch {
    return true;
  }
}

interface ProcessGroups {
  readonly own: number;
  /** The process group that owns the terminal. */
  readonly foreground: number;
}

function groupsOfLinux(): ProcessGroups {
  const stat = readFileSync("/proc/self/stat", "utf8");
  // The program's name before the last `)` can contain anything.
  const [, , own, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { own: Number(own), foreground: Number(foreground) };
}

function groupsByPs(): ProcessGroups {
  const [own, foreground] = execFileSync("ps", ["-o", "pgid=", "-o", "tpgid=", "-p", String(process.pid)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  })
    .trim()
    .split(/\s+/);
  return { own: Number(own), foreground: Number(foreground) };
}

/** Whether a stream is a terminal that can move its cursor, in the foreground: no pipe, no `TERM=dumb`, and no `ACCESSIBLE`. */
export function movesCursor(stream: NodeJS.WriteStream, env: Io["env"]): boolean {
  return stream.isTTY && env["TERM"] !== "dumb" && (env["ACCESSIBLE"] ?? "") === "" && isInForeground();
}

/**
 * Whether the terminal's font has symbols such as ✔. The Linux console lacks them, as does the old Windows console, which, unlike other
 * terminals, does not identify itself.
 */
export function showsUnicode(env: Io["env"], platform = process.platform): boolean {
  if (platform !== "win32") return env["TERM"] !== "linux";
  return ["WT_SESSION", "TERM_PROGRAM", "ConEmuANSI", "TERM"].some((name) => (env[name] ?? "") !== "");
}
