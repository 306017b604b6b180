import type { InputResult } from "../question/input-request.ts";
import type { AnsweredRound } from "../task-protocol.ts";
import type { TaskReference } from "../task/task-reference.ts";

/** A call that was begun and whose end nobody was told yet. Plain JSON. */
export interface KeptCall {
  /** The call's idempotency key: with server and generation, the name of the call. */
  readonly key: string;
  /** As in a reference: see `TaskReference`. */
  readonly server: string;
  readonly generation: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** As the caller asked for. */
  readonly ttlMs?: number | undefined;
  /** Epoch milliseconds, by the client's clock. */
  readonly startedAt: number;
  /** What the server was told last of the questions that it asked before there was a task. */
  readonly round?: AnsweredRound | undefined;
  /** The task that the call became; `null` while no answer has told of one. */
  readonly taskId: string | null;
  /** Epoch milliseconds, by the client's clock, from which the server may drop the task; left out where nobody knows. */
  readonly expiresAt?: number | undefined;
}

/** What names a call among those of all servers. */
export type CallName = Pick<KeptCall, "server" | "generation" | "key">;

/** An entry that is there and cannot be read: `name` says where it is. */
export interface DamagedEntry {
  readonly name: string;
  readonly error: Error;
}

export interface KeptCalls {
  /** The oldest first. */
  readonly calls: readonly KeptCall[];
  readonly damaged: readonly DamagedEntry[];
}

/**
 * Keeps calls, and the answers that were given to their tasks' questions, until somebody was told how they ended. Each
 * method resolves once its change lasts; clients in any number may use one store at the same time.
 *
 * ```ts
 * const client = await connect(url, { handles: fileHandles("./handles") });
 * ```
 */
export interface HandleStore {
  /**
   * Called before the call is sent, again with each round of answers, and with the task's id as soon as it is known. A
   * caller may use a key twice: a call that is kept already keeps the task that it has, and its `startedAt`. Resolves with
   * false if it was kept without a task, so that it may have been sent before.
   */
  keep(call: KeptCall): Promise<boolean>;
  /** The call ended without a task. Nothing happens if it is not kept, or has a task. */
  drop(call: CallName): Promise<void>;
  /** The task is over: drops the calls that became it, and the answers to its questions. */
  dropTask(task: TaskReference): Promise<void>;
  list(): Promise<KeptCalls>;
  /** The call that became this task, if it is kept. Rejects for one that cannot be read. */
  find(task: TaskReference): Promise<KeptCall | undefined>;
  /** Keeps what was answered to one question of a task. */
  keepAnswer(task: TaskReference, question: string, answer: InputResult): Promise<void>;
  /** The answer, if one is kept. Rejects for one that cannot be read. */
  answer(task: TaskReference, question: string): Promise<InputResult | undefined>;
}
