import type { ClientCapabilities, Progress } from "@modelcontextprotocol/client";
import type { OnInput } from "../../client/question/input-request.ts";
import type { RemoteTask } from "../../client/task/remote-task.ts";

/** The task that a command is about, once there is one. */
export interface ShownTask {
  readonly taskId: string;
  /** Missing for a task that was started elsewhere. */
  readonly tool: string | undefined;
  /** What to type to come back to it, such as `holdfast watch 01ab…`. */
  readonly comeBack: string;
  /** Epoch milliseconds by this machine's clock; missing for a task that was started elsewhere. */
  readonly startedAt?: number | undefined;
  /** Whether its server is a process of this command, which ends with it. Default false. */
  readonly serverEnds?: boolean;
}

/** What becomes of a task that nobody waits for any more, and how to come back to it. */
export function wayBack({ comeBack, serverEnds }: ShownTask): string {
  return serverEnds === true
    ? `Its server ends with this command, and has lost the task if it keeps tasks in memory. If it keeps them on disk, come back to it with: ${comeBack}`
    : `The task goes on. Come back to it with: ${comeBack}`;
}

/**
 * Told what happens while a command runs. All of it goes to stderr; results are printed by the command, after `end`.
 * Texts come as the server sent them: whoever shows them makes them harmless with `sanitizeText`.
 */
export interface Display {
  connecting(server: string): void;
  connected(): void;
  /** A tool is called; whether that makes a task is not known yet. */
  calling(tool: string): void;
  /** There is a task, and it is recorded here: from now on it can be come back to. */
  started(task: ShownTask): void;
  /** Each state of the task, the last one too. */
  update(task: RemoteTask): void;
  progress(progress: Progress): void;
  /** Something to know, one line, which has nothing of the server in it. */
  note(line: string): void;
  /** Takes away whatever moves: what follows is the result, or an error. Called once or more. */
  end(): void;
}

/** Ctrl-C and SIGTERM, while a command waits. */
export interface Interrupts {
  /** Aborts at the first Ctrl-C, and at SIGTERM. */
  readonly signal: AbortSignal;
  /** Aborts at SIGTERM. */
  readonly terminated: AbortSignal;
  /**
   * After the first one, tells the user how to come back (`task` is undefined where there is none yet) and resolves
   * with `"cancel"` if a second one follows soon, and otherwise with `"detach"`. A third ends the process at once.
   */
  decide(task: ShownTask | undefined): Promise<"detach" | "cancel">;
}

/** Whoever sits in front of a command: a person at a terminal, or nobody. */
export interface Terminal {
  readonly display: Display;
  /** Answers the server's questions; rejects with `LeftOpen` where a task's stays open. For nobody, see `PlainTerminal`. */
  readonly askUser: OnInput;
  /** Whether there is somebody to ask. */
  readonly isInteractive: boolean;
  /** What `askUser` can be asked, as the server is told. */
  readonly capabilities: ClientCapabilities;
  readonly interrupts: Interrupts;
  /** Gives signals and streams back. */
  close(): void;
}
