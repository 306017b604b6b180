/** Settings of the runtime; times in milliseconds, sizes in bytes of UTF-8 JSON text. */
export interface RuntimeOptions {
  /** How long a task is kept, counted from its creation; null: without end. */
  readonly ttlMs: number | null;
  /** The shortest and the longest ttl that a requestor is given that asks for one; others are not bounded by these. */
  readonly minTtlMs: number;
  readonly maxTtlMs: number;
  /** How long a task without ttl may take from its creation to its end; a ttl bounds the others. */
  readonly maxRunMs: number;
  /** How long a question waits for its answer before the handler is told that none came; null: as long as its task. */
  readonly inputTimeoutMs: number | null;
  /** What clients are told to wait between two polls. */
  readonly pollIntervalMs: number;
  /** Handlers that run at the same time; one that waits for input does not count. */
  readonly concurrency: number;
  /**
   * How long a handler may go on after a cancel request before the task ends as cancelled all the same. A handler that goes
   * on for as long after its signal has aborted, and whose task has ended, counts as leaked: its slot is free again.
   */
  readonly cancelGraceMs: number;
  /** Leaked handlers of one tool; with as many it starts no more, and its tasks wait, until some have ended. */
  readonly maxLeakedHandlers: number;
  /** How long a task that expired while unfinished stays visible as failed. */
  readonly expiredVisibleMs: number;
  /** How long an orderly stop waits for running handlers before it releases their tasks. */
  readonly stopDeadlineMs: number;
  /** Tasks of one principal that have not ended; one more is refused. Null: any number, as in the three below. */
  readonly maxUnfinishedPerPrincipal: number | null;
  /** The same of everybody together, and of callers who are not told apart. */
  readonly maxUnfinished: number | null;
  /** Tasks of one principal that are kept, ended ones among them. */
  readonly maxRetainedPerPrincipal: number | null;
  readonly maxRetained: number | null;
  /** Questions that one task may ask; the next one fails in its handler. */
  readonly maxInputsPerTask: number;
  /** Largest arguments, result, step result, question or answer. */
  readonly maxBodyBytes: number;
  /** Objects and lists in one another in a message, itself included; a deeper one is refused. */
  readonly maxNesting: number;
  /** Values in a message: objects, lists and what is in them; a message with more is refused before it is parsed. */
  readonly maxNodes: number;
  /** Crashes in a row, without a journal write between them, after which a task fails. */
  readonly maxCrashes: number;
  /** Pause before a task runs again after its second crash in a row; doubles with each further one. */
  readonly crashBackoffMs: number;
  readonly maxCrashBackoffMs: number;
  /** How long after the start tasks wait for a tool that is not registered before they fail. */
  readonly unregisteredGraceMs: number;
}

const hour = 3_600_000;

export const defaultOptions: RuntimeOptions = {
  ttlMs: 24 * hour,
  minTtlMs: 1_000,
  maxTtlMs: 30 * 24 * hour,
  maxRunMs: 30 * 24 * hour,
  inputTimeoutMs: null,
  pollIntervalMs: 1_000,
  concurrency: 64,
  cancelGraceMs: 5_000,
  maxLeakedHandlers: 16,
  expiredVisibleMs: 60_000,
  stopDeadlineMs: 10_000,
  maxUnfinishedPerPrincipal: 1_000,
  maxUnfinished: 10_000,
  maxRetainedPerPrincipal: 20_000,
  maxRetained: 1_000_000,
  maxInputsPerTask: 1_000,
  maxBodyBytes: 4 * 1024 * 1024,
  maxNesting: 128,
  maxNodes: 200_000,
  maxCrashes: 5,
  crashBackoffMs: 1_000,
  maxCrashBackoffMs: 60_000,
  unregisteredGraceMs: 60_000,
};
