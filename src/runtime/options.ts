/** What a ttl that a client asks for applies to. */
export type RequestedTtl = "result" | "task";

/** What a process does: `serve` takes requests, `work` runs the handlers of tools. */
export type Role = "serve" | "work";

/** Settings of the runtime. Times are in milliseconds, sizes in bytes of UTF-8 JSON text. */
export interface RuntimeOptions {
  /**
   * What this process does, if several share a store. One that only serves leaves its tasks to those that work. One that only works takes
   * no requests. Default: both; such a process runs the tasks that it created as long as it lives.
   */
  readonly roles: readonly Role[];
  /** How long a task is kept after its end, unless a ttl or its client says otherwise. At least a second. */
  readonly keepMs: number;
  /**
   * The life of every task, counted from its creation: when it is over, an unfinished task fails, and a finished one is deleted. `null`:
   * kept forever. Left out, a task may take `maxRunMs` and is kept for `keepMs` after its end.
   */
  readonly ttlMs: number | null | undefined;
  /**
   * What a ttl that a client asks for in protocol 2025-11-25 means. `result`: how long the task is kept after its end. `task`: the life of
   * the whole task, instead of `ttlMs`.
   */
  readonly requestedTtl: RequestedTtl;
  /** The shortest and the longest ttl that a client can ask for. They do not limit `ttlMs`. */
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  /** How long a task without a ttl may take, waits included, counted from its creation. A ttl limits all other tasks. */
  readonly maxRunMs: number;
  /** How long a question waits for its answer; then the call rejects with `input_timeout`. `null`: as long as its task lives. */
  readonly inputTimeoutMs: number | null;
  /** The poll interval that clients are told to keep. */
  readonly pollIntervalMs: number;
  /** Handlers that run at the same time. One that waits for an answer, an event or a sleep does not count. */
  readonly concurrency: number;
  /**
   * How long a handler may continue after a cancel request; then its task ends as cancelled anyway. A handler that still runs this long
   * after its signal aborted counts as leaked once its task has ended, and its slot is freed.
   */
  readonly cancelGraceMs: number;
  /** Maximum number of leaked handlers of one tool. At this number its tasks wait until some of them have ended. */
  readonly maxLeakedHandlers: number;
  /** How long a task that expired unfinished stays visible as failed. */
  readonly expiredVisibleMs: number;
  /**
   * Handlers that may stay in memory while they wait for an answer, an event or a sleep. Above this number, and after ten minutes in any
   * case, the handler that has waited longest is dropped. It runs again with its journal when its wait ends.
   */
  readonly maxParkedFrames: number;
  /** How long an orderly stop waits for running handlers before it releases their tasks. */
  readonly stopDeadlineMs: number;
  /** Maximum number of unfinished tasks of one principal. `null`: no limit, as for the next three limits. */
  readonly maxUnfinishedPerPrincipal: number | null;
  /** Maximum number of unfinished tasks in total, including those of callers without a principal. */
  readonly maxUnfinished: number | null;
  /** Maximum number of tasks kept for one principal, finished ones included. */
  readonly maxRetainedPerPrincipal: number | null;
  /** Maximum number of tasks kept in total. */
  readonly maxRetained: number | null;
  /** Maximum number of questions of one task; one more rejects in its handler. */
  readonly maxInputsPerTask: number;
  /** Events stored for one task until its handler takes them; sending one more is refused. */
  readonly maxEventsPerTask: number;
  /** Steps, questions, sleeps, tool calls and waits for events that one task may begin; one more rejects in its handler. */
  readonly maxJournalEntries: number;
  /**
   * Total size of the step results, questions, answers and events of one task. A step or question that would exceed it rejects in its
   * handler.
   */
  readonly maxJournalBytes: number;
  /** Maximum size of arguments, a result, a step result, a question, an answer or an event. */
  readonly maxBodyBytes: number;
  /** Maximum JSON nesting depth of a message; a deeper one is refused. */
  readonly maxNesting: number;
  /**
   * Maximum number of JSON values in a message, objects and arrays included. A message with more is refused before it is parsed. So is one
   * in which a single object has more than a tenth as many members, if these are more than 1,000.
   */
  readonly maxNodes: number;
  /** Lines kept in the log of a task; above this number, the oldest are dropped. */
  readonly maxLogLines: number;
  /** Maximum total size of these lines. */
  readonly maxLogBytes: number;
  /** Content blocks in the output of a task; above this number, `task.output` throws. */
  readonly maxOutputBlocks: number;
  /** Maximum total size of these blocks. */
  readonly maxOutputBytes: number;
  /** Webhook messages waiting in the store; above this number, the oldest are dropped within a minute. */
  readonly maxDeliveries: number;
  /** Crashes in a row, without a journal write between them, after which a task fails. */
  readonly maxCrashes: number;
  /** The pause before a task runs again after its second crash in a row. It doubles with each further crash. */
  readonly crashBackoffMs: number;
  /** The longest such pause. */
  readonly maxCrashBackoffMs: number;
  /** How long tasks wait for a tool that no process on the store has; then they fail. */
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
