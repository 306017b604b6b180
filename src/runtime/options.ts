/** What a ttl means that a client asks for. */
export type RequestedTtl = "result" | "task";

/** What a process does of its own: `serve` takes requests, `work` runs the handlers of tools. */
export type Role = "serve" | "work";

/** Settings of the runtime. Times are in milliseconds, sizes in bytes of UTF-8 JSON text. */
export interface RuntimeOptions {
  /**
   * What this process does, where several share a store. One that only serves leaves its tasks to those that work; one that
   * only works takes no requests. Both by default: then a process runs the tasks that it created as long as it lives.
   */
  readonly roles: readonly Role[];
  /** How long a task is kept from its end, where neither a ttl nor its client says otherwise. At least a second. */
  readonly keepMs: number;
  /**
   * The life of every task, counted from its creation: at its end an unfinished task fails, and a finished one is deleted.
   * Left out, a task may take `maxRunMs` and is kept for `keepMs` from its end; `null`: kept for ever.
   */
  readonly ttlMs: number | null | undefined;
  /**
   * What a ttl that a client asks for in protocol 2025-11-25 means. `result`: how long the task is kept from its end.
   * `task`: the life of the whole task, in place of `ttlMs`.
   */
  readonly requestedTtl: RequestedTtl;
  /** The shortest and the longest ttl that a client can ask for. They do not bound `ttlMs`. */
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  /** How long a task without a ttl may take, waits included, counted from its creation. A ttl bounds all other tasks. */
  readonly maxRunMs: number;
  /** How long a question waits for its answer; then the call rejects with `input_timeout`. `null`: as long as its task lives. */
  readonly inputTimeoutMs: number | null;
  /** The poll interval that clients are told to keep. */
  readonly pollIntervalMs: number;
  /** Handlers that run at the same time. One that waits for an answer, an event or a sleep does not count. */
  readonly concurrency: number;
  /**
   * How long a handler may go on after a cancel request; then its task ends as cancelled all the same. A handler that
   * still runs this long after its signal aborted counts as leaked once its task has ended, and its slot is freed.
   */
  readonly cancelGraceMs: number;
  /** Leaked handlers that one tool may have. At this number its tasks wait until some of them have ended. */
  readonly maxLeakedHandlers: number;
  /** How long a task that expired before its end stays visible as failed. */
  readonly expiredVisibleMs: number;
  /**
   * Handlers that may wait for an answer, an event or a sleep with all that they hold in memory. Beyond, and after ten minutes in any
   * case, the one that has waited longest is dropped, and runs again with its journal when something has come for it.
   */
  readonly maxParkedFrames: number;
  /** How long an orderly stop waits for running handlers before it releases their tasks. */
  readonly stopDeadlineMs: number;
  /** Unfinished tasks of one principal; one more is refused. `null`: no limit, as for the three limits below. */
  readonly maxUnfinishedPerPrincipal: number | null;
  /** Unfinished tasks in total, those of callers without a principal included. */
  readonly maxUnfinished: number | null;
  /** Tasks of one principal that are kept, finished ones included. */
  readonly maxRetainedPerPrincipal: number | null;
  /** Tasks that are kept in total. */
  readonly maxRetained: number | null;
  /** Questions that one task may ask; one more rejects in its handler. */
  readonly maxInputsPerTask: number;
  /** Events that are kept for one task until its handler takes them; sending one more is refused. */
  readonly maxEventsPerTask: number;
  /** Steps, questions, sleeps and waits for events that one task may begin; one more rejects in its handler. */
  readonly maxJournalEntries: number;
  /** The step results, questions, answers and events of one task; the step or question that would exceed it rejects in its handler. */
  readonly maxJournalBytes: number;
  /** The largest arguments, result, step result, question, answer or event. */
  readonly maxBodyBytes: number;
  /** The maximum JSON nesting depth of a message; a deeper one is refused. */
  readonly maxNesting: number;
  /**
   * JSON values in a message, objects and arrays included; a message with more is refused before it is parsed. So is one with an
   * object that has more than a tenth as many members, if these are more than 1,000.
   */
  readonly maxNodes: number;
  /** Lines that the log of a task keeps; beyond, its oldest ones are forgotten. */
  readonly maxLogLines: number;
  /** The bytes that they may have together. */
  readonly maxLogBytes: number;
  /** Content blocks that a task's output may have; beyond, `task.output` throws. */
  readonly maxOutputBlocks: number;
  /** The bytes that they may have together. */
  readonly maxOutputBytes: number;
  /** Messages for webhooks that wait in the store; beyond, the oldest are dropped, within a minute. */
  readonly maxDeliveries: number;
  /** Crashes in a row without a journal write between them, after which a task fails. */
  readonly maxCrashes: number;
  /** The pause before a task runs again after its second crash in a row; it doubles with each further crash. */
  readonly crashBackoffMs: number;
  /** The longest such pause. */
  readonly maxCrashBackoffMs: number;
  /** How long tasks of a tool wait that no process has which has the store open; then they fail. */
  readonly unregisteredGraceMs: number;
}

const hour = 3_600_000;

export const defaultOptions: RuntimeOptions = {
  roles: ["serve", "work"],
  keepMs: 24 * hour,
  ttlMs: undefined,
  requestedTtl: "result",
  minTtlMs: 1_000,
  maxTtlMs: 30 * 24 * hour,
  maxRunMs: 365 * 24 * hour,
  inputTimeoutMs: null,
  pollIntervalMs: 1_000,
  concurrency: 64,
  cancelGraceMs: 5_000,
  maxLeakedHandlers: 16,
  maxParkedFrames: 10_000,
  expiredVisibleMs: 60_000,
  stopDeadlineMs: 10_000,
  maxUnfinishedPerPrincipal: 1_000,
  maxUnfinished: 10_000,
  maxRetainedPerPrincipal: 20_000,
  maxRetained: 1_000_000,
  maxInputsPerTask: 1_000,
  maxEventsPerTask: 1_000,
  maxJournalEntries: 50_000,
  maxJournalBytes: 256 * 1024 * 1024,
  maxBodyBytes: 4 * 1024 * 1024,
  maxNesting: 128,
  maxNodes: 200_000,
  maxLogLines: 1_000,
  maxLogBytes: 256 * 1024,
  maxOutputBlocks: 1_000,
  maxOutputBytes: 1024 * 1024,
  maxDeliveries: 100_000,
  maxCrashes: 5,
  crashBackoffMs: 1_000,
  maxCrashBackoffMs: 60_000,
  unregisteredGraceMs: 60_000,
};
