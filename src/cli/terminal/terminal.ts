import type { Progress } from "@modelcontextprotocol/client";
import type { OnInput } from "../../client/question/input-request.ts";
import type { RemoteTask } from "../../client/task/remote-task.ts";

/** How a command ended, for the last line of a display. */
export interface Ending {
  readonly kind: "done" | "error" | "cancelled" | "left";
  /** What a person is to know, on one line: "completed", "failed: the disk is full". */
  readonly text: string;
}

/**
 * What a person sees on stderr while a command works. It makes servers' text harmless by itself. Calls after `end` are
 * of no effect, so that what comes late need not be held back.
 */
export interface Display {
  /** What is done now, in a few words of ours: "connecting to reports". Stands until the next. */
  doing(what: string): void;
  /** A task as it stands, each time that is told. */
  task(task: RemoteTask): void;
  /** A report of progress, from whatever way it came. */
  progress(progress: Progress): void;
  /** Words that stay: an id, a hint. May have several lines. */
  say(text: string): void;
  /** Makes room for somebody else who writes to the terminal, a prompt for one, until that is disposed of. */
  suspend(): Disposable;
  /** The last line, with the time that it took. */
  end(ending: Ending): void;
}

/** Where Ctrl-C and SIGTERM arrive while a command waits. Each of the signals aborts at most once. */
export interface Interrupts extends Disposable {
  /** Either came: for whatever waits. Nobody waits any more then; tasks run on. */
  readonly signal: AbortSignal;
  /** A second Ctrl-C came. */
  readonly again: AbortSignal;
  /** SIGTERM came: its sender waits for the end of the process, and nobody reads. */
  readonly terminated: AbortSignal;
  /** A Ctrl-C that was read as a key: a prompt takes all keys. */
  press(): void;
}

/** A person's side of one command. */
export interface Terminal {
  readonly display: Display;
  readonly askUser: OnInput;
  readonly interrupts: Interrupts;
}
