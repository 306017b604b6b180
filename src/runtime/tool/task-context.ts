import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  ListRootsResult,
} from "@modelcontextprotocol/server";
import type { JournalKey } from "../../task/journal.ts";

/** What a step's function gets. */
export interface StepContext {
  /** The same for every run of this step of this task: hand it to services that deduplicate by such a key. */
  readonly idempotencyKey: string;
  /** Aborts on cancel, expiry, lost ownership and the step's own timeout. */
  readonly signal: AbortSignal;
}

export interface StepOptions {
  /** Runs after the first that a throwing step gets; 0 by default. Pauses: 1 s, doubling to 60 s, with jitter. */
  readonly retries?: number;
  /** For each run; none by default. */
  readonly timeoutMs?: number;
}

export interface QuestionOptions {
  /**
   * How long the question waits for its answer, in ms; default: the tool's or the server's `inputTimeoutMs`. Then the
   * call rejects with `input_timeout`, on a replay too, and an answer comes too late.
   */
  readonly timeoutMs?: number;
}

/** A question without `mode` is a form. */
export type ElicitParams =
  Omit<ElicitRequestFormParams, "mode"> | ElicitRequestFormParams | ElicitRequestURLParams;

/**
 * What a handler does with its task. Keys are durable: each is used once in a task, and not renamed while tasks
 * that used it still run. Code between these calls may run again after a crash; what they returned does not.
 */
export interface TaskContext<Prepared = unknown> {
  /** What the tool's `prepare` returned; undefined for a tool without one. */
  readonly prepared: Prepared;
  /** The task's id; for a call that is answered directly an id of this run only. */
  readonly id: string;
  /**
   * What the requestor calls the task: in SEP-1686 the id that it made up itself, else the `id` that it was given, or the
   * reference of its ticket. One requestor's is not another's: where it names something to others, put the `id` beside it.
   */
  readonly wireId: string;
  /** 1 for the first run of the handler, one more for each that followed a crash or a release. */
  readonly attempt: number;
  /** Aborts on cancel, expiry, lost ownership and stop. */
  readonly signal: AbortSignal;
  /**
   * Runs `fn` once and journals its result; a later attempt gets the journalled result. What `fn` finally throws
   * is journalled too. The result has to be plain JSON data. Rejects with `duplicate_key`, `nested_step`,
   * `not_json`, `replay_mismatch`, `too_large`.
   */
  step<T>(key: JournalKey, fn: (step: StepContext) => T | Promise<T>): Promise<T>;
  step<T>(key: JournalKey, options: StepOptions, fn: (step: StepContext) => T | Promise<T>): Promise<T>;
  /**
   * Asks the client's user; the answer is journalled, so an answered question is not asked again. Rejects, on a replay too,
   * with `input_failed` where the client answered with an error, which is the error's `data`; so do the other questions.
   */
  elicit(key: JournalKey, params: ElicitParams, options?: QuestionOptions): Promise<ElicitResult>;
  /** Asks the client's model. */
  sample(
    key: JournalKey,
    params: CreateMessageRequestParams,
    options?: QuestionOptions,
  ): Promise<CreateMessageResult>;
  /** Asks for the client's roots. */
  roots(key: JournalKey, options?: QuestionOptions): Promise<ListRootsResult>;
  /**
   * Waits `ms` milliseconds, counted from the first attempt: a restart does not begin them anew. May be months; needs
   * no slot and no timer of its own.
   */
  sleep(key: JournalKey, ms: number): Promise<void>;
  /** Sets the text that clients see beside the status. Not awaited by need: the last one wins. */
  status(message: string): Promise<void>;
  /**
   * Reports how far the work is. Returns at once; of many reports the furthest is written, so report as often as you
   * like. Progress never goes back: a report below an earlier one is passed over, also one of an attempt before a crash; an
   * equal one can bring another total or message. Clients without progress notifications see it in the status text.
   */
  progress(progress: number, total?: number, message?: string): void;
  /** Sets how long the task is kept, in ms from its creation; null: without end. */
  extend(ttlMs: number | null): Promise<void>;
  /** Sets what clients are told to wait between two polls, in ms. */
  pollInterval(ms: number): Promise<void>;
}
