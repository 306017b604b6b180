import { commandSize } from "../../store/command-size.ts";
import type { CommandResult, TaskCommand } from "../../task/command.ts";

/** How many attempts are remembered, how much of their outcomes in all, and how much of one (bytes). */
const mostAttempts = 10_000;
const mostBytes = 8 * 1024 * 1024;
const largest = 256 * 1024;

/** What was written under the token of an attempt. */
export interface RecentAttempt {
  /** Whether the task was one that a later attempt can resume. */
  readonly isResumable: boolean;
  /** What ended the task; undefined if it has not ended, or has with more than is remembered. */
  readonly end?: TaskCommand<"settle"> | undefined;
}

/**
 * What this process has stored of its last attempts. A failover to a server that lagged behind may undo it, and only this process knows
 * then that an attempt has ended, and how, or that its task can be resumed.
 */
export class RecentAttempts {
  readonly #attempts = new Map<string, RecentAttempt>();
  #bytes = 0;

  /** The store has applied a command. */
  wrote(command: TaskCommand, result: CommandResult): void {
    if (!("token" in command) || command.token === null || !result.ok || !("task" in result)) return;
    const { token } = command;
    const known = this.#attempts.get(token);
    const isResumable = known?.isResumable === true || result.task.journalled;
    const end = command.type === "settle" && commandSize(command) <= largest ? command : known?.end;
    if (isResumable === (known?.isResumable ?? false) && end === known?.end) return;
    this.#forget(token);
    this.#attempts.set(token, { isResumable, end });
    this.#bytes += sizeOf(end);
    for (const oldest of this.#attempts.keys()) {
      if (this.#attempts.size <= mostAttempts && this.#bytes <= mostBytes) return;
      this.#forget(oldest);
    }
  }

  /** Undefined for an attempt that has neither ended nor made its task resumable, or did so long ago. */
  of(token: string): RecentAttempt | undefined {
    return this.#attempts.get(token);
  }

  #forget(token: string): void {
    this.#bytes -= sizeOf(this.#attempts.get(token)?.end);
    this.#attempts.delete(token);
  }
}

function sizeOf(end: RecentAttempt["end"]): number {
  return end === undefined ? 0 : commandSize(end);
}
