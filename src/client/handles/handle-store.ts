import type { InputResult } from "../question/input-request.ts";
import type { AnsweredRound } from "../task-protocol.ts";
import type { TaskReference } from "../task/task-reference.ts";

/** A call whose outcome was not delivered yet. Plain JSON. */
export interface StoredCall {
  /** The call's idempotency key. Together with server and generation it identifies the call. */
  readonly key: string;
  /** The server's name, as in `TaskReference`. */
  readonly server: string;
  readonly generation: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The ttl that the caller asked for, in milliseconds. */
  readonly ttlMs?: number | undefined;
  /** Epoch milliseconds, by the client's clock. */
  readonly startedAt: number;
  /** The last answers to questions that the server asked before there was a task. */
  readonly round?: AnsweredRound | undefined;
  /** The task of the call; `null` while the server has not named one. */
  readonly taskId: string | null;
  /** When the server may delete the task: epoch milliseconds, by the client's clock; left out if unknown. */
  readonly expiresAt?: number | undefined;
  /** The session that created the task, before 2026-07-28: some servers show it in no other. */
  readonly sessionId?: string | undefined;
  /** The origin that the session's id came from. The id is sent only there. */
  readonly sessionOrigin?: string | undefined;
}

/** Identifies a call among those of all servers. */
export type CallName = Pick<StoredCall, "server" | "generation" | "key">;

/** A session at a server, before 2026-07-28. Plain JSON. Its id may be enough to see its tasks. */
export interface ResumableSession {
  /** As in `TaskReference`. Together with the generation it identifies the session. */
  readonly server: string;
  readonly generation: string;
  /** The origin that the id came from. The id is sent only there. */
  readonly origin: string;
  readonly id: string;
  /** The capabilities that the client declared. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** The server's answer to `initialize`. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** An entry that cannot be read; `name` says where it is. */
export interface DamagedEntry {
  readonly name: string;
  readonly error: Error;
}

/** The calls that a handle store keeps, and entries that cannot be read. */
export interface StoredCalls {
  /** Oldest first. */
  readonly calls: readonly StoredCall[];
  readonly damaged: readonly DamagedEntry[];
}

/**
 * Stores calls, and the answers to their tasks' questions, until their outcomes are delivered. Each method resolves once its change is
 * durable. Any number of clients may use one store at the same time.
 *
 * ```ts
 * const client = await connect(url, { handles: fileHandles("handles.db") });
 * ```
 */
export interface HandleStore {
  /**
   * Stores a call: before it is sent, with each round of answers, and as soon as the task's id is known. A stored call
   * keeps its task and its `startedAt`. Resolves with false if it was stored before without a task, so that it may have
   * been sent already.
   */
  keep(call: StoredCall): Promise<boolean>;
  /** Removes a call that ended without a task. Does nothing if it is not stored, or has a task. */
  drop(call: CallName): Promise<void>;
  /** Removes the calls of a finished task, and the answers to its questions. */
  dropTask(task: TaskReference): Promise<void>;
  list(): Promise<StoredCalls>;
  /** The call of this task, if it is stored. Rejects if it cannot be read. */
  find(task: TaskReference): Promise<StoredCall | undefined>;
  /** Whether a stored task was created in this session. */
  usesSession(session: ResumableSession): Promise<boolean>;
  /** Stores the session that the next client resumes: the newest one for each server and generation. */
  keepSession(session: ResumableSession): Promise<void>;
  findSession(server: string, generation: string): Promise<ResumableSession | undefined>;
  /**
   * Removes this session, before a client resumes it or if its server has lost it. Resolves with false if it is not stored: of several
   * clients, only one gets true.
   */
  dropSession(session: ResumableSession): Promise<boolean>;
  /** Stores the answer to one question of a task. */
  keepAnswer(task: TaskReference, question: string, answer: InputResult): Promise<void>;
  /** The answer, if one is stored. Rejects if it cannot be read. */
  answer(task: TaskReference, question: string): Promise<InputResult | undefined>;
}
