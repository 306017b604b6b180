import type { TimeSpan } from "../task/time.ts";
import {
  choice,
  choices,
  number,
  settingsOf,
  size,
  tableOf,
  text,
  time,
  type Settings,
  value,
} from "../options/options.ts";
import { HoldfastError } from "../task/fault.ts";
import type { DeclaredLimit } from "./limits/limit-name.ts";
import { areLimits, type LimitOptions } from "./limits/limit-options.ts";

/** What a ttl that a client asks for applies to. */
export type RequestedTtl = "result" | "task";

/** What a process does: `serve` takes requests, `work` runs the handlers of tools. */
export type Role = "serve" | "work";

const hour = 3_600_000;

export class DeclaredRuntimeOptions {
  /**
   * What this process does, if several share a store: `serve` takes requests, `work` runs handlers. A process that only serves leaves its
   * tasks to those that work. One that only works takes no requests. One that does both runs the tasks that it created as long as it lives.
   * Default `serve` and `work`.
   */
  readonly roles?: readonly Role[] = choices(["serve", "work"], {
    default: ["serve", "work"],
    variable: "HOLDFAST_ROLES",
  });
  /** Handlers that run at the same time. One that waits for an answer, an event or a sleep does not count. Default 64. */
  readonly concurrency?: number = number({ min: 1, default: 64, variable: "HOLDFAST_CONCURRENCY" });
  /**
   * Limits by name, for steps, commands and tools that name one: how many may run at a time and start per minute, over all processes that
   * share the store. Processes with different numbers each go by their own. Default: none, at no cost.
   */
  readonly limits?: Readonly<Record<DeclaredLimit, LimitOptions>> = value(
    "limits by their names: { openai: { concurrency: 4, perMinute: 60 } }",
    areLimits,
  );
  /** How long a task is kept after its end, unless a ttl or its client says otherwise. Default 1 day. */
  // In less than a second a result would be gone before anybody reads it.
  readonly keepMs?: TimeSpan = time({ min: 1_000, default: 24 * hour, variable: "HOLDFAST_KEEP" });
  /**
   * The life of every task, counted from its creation. When it is over, an unfinished task fails and a finished one is deleted. `null`: tasks
   * are kept forever. Left out, a task may take `maxRunMs` and is kept for `keepMs` after its end.
   */
  readonly ttlMs?: TimeSpan | null = time({ min: 0, orNull: true, variable: "HOLDFAST_TTL" });
  /**
   * What the ttl that a client of protocol 2025-11-25 asks for applies to. `result`: how long the task is kept after its end. `task`: the
   * life of the whole task, instead of `ttlMs`. Default `result`.
   */
  readonly requestedTtl?: RequestedTtl = choice(["result", "task"], { default: "result" });
  /** The shortest ttl that a client can ask for. It does not limit `ttlMs`. Default 1 second. */
  readonly minTtlMs?: TimeSpan = time({ min: 0, default: 1_000, variable: "HOLDFAST_MIN_TTL" });
  /** The longest ttl that a client can ask for. It does not limit `ttlMs`. Default 30 days. */
  readonly maxTtlMs?: TimeSpan = time({ min: 1, default: 30 * 24 * hour, variable: "HOLDFAST_MAX_TTL" });
  /** How long a task without a ttl may take, counted from its creation, waits included. Default 365 days. */
  readonly maxRunMs?: TimeSpan = time({ min: 1, default: 365 * 24 * hour, variable: "HOLDFAST_MAX_RUN" });
  /**
   * How long a question waits for its answer. Then the call in the handler rejects with `input_timeout`. `null`: as long as the task lives.
   * Default `null`.
   */
  readonly inputTimeoutMs?: TimeSpan | null = time({
    min: 0,
    orNull: true,
    default: null,
    variable: "HOLDFAST_INPUT_TIMEOUT",
  });
  /** How long clients are told to wait between two polls. Default 1 second. */
  readonly pollIntervalMs?: TimeSpan = time({ min: 0, default: 1_000, variable: "HOLDFAST_POLL_INTERVAL" });
  /**
   * How long a handler may keep running after its task was cancelled. Then the task ends as cancelled anyway. A handler that still runs this
   * long after its signal aborted counts as leaked once its task has ended, and no longer counts towards `concurrency`. Default 5 seconds.
   */
  readonly cancelGraceMs?: TimeSpan = time({ min: 0, default: 5_000, variable: "HOLDFAST_CANCEL_GRACE" });
  /**
   * After how long an unfinished task is cancelled whose id did not reach its client, because the connection broke before the answer. It
   * applies to tasks that cannot be found otherwise, by an idempotency key or in a list, and ends with the first request for the task.
   * `null`: never. Default 1 hour.
   */
  readonly abandonAfterMs?: TimeSpan | null = time({
    min: 0,
    orNull: true,
    default: hour,
    variable: "HOLDFAST_ABANDON_AFTER",
  });
  /** How long an orderly stop waits for running handlers before it gives their tasks back to the store. Default 10 seconds. */
  readonly stopDeadlineMs?: TimeSpan = time({ min: 0, default: 10_000, variable: "HOLDFAST_STOP_DEADLINE" });
  /**
   * Maximum number of leaked handlers of one tool: those that outlive their tasks. At this number its tasks wait until some of them have
   * ended. Default 16.
   */
  readonly maxLeakedHandlers?: number = number({
    min: 1,
    default: 16,
    variable: "HOLDFAST_MAX_LEAKED_HANDLERS",
  });
  /**
   * Handlers that may stay in memory while they wait for an answer, an event or a sleep. Above this number, and after ten minutes in any
   * case, the handler that has waited longest is dropped from memory. It runs again with its journal when its wait ends. Default 10,000.
   */
  readonly maxParkedFrames?: number = number({
    min: 0,
    default: 10_000,
    variable: "HOLDFAST_MAX_PARKED_FRAMES",
  });
  /** How long a task that expired unfinished is shown as failed. Default 1 minute. */
  readonly expiredVisibleMs?: TimeSpan = time({
    min: 0,
    default: 60_000,
    variable: "HOLDFAST_EXPIRED_VISIBLE",
  });
  /** Maximum number of unfinished tasks of one principal, the caller that `authenticate` identified. `null`: no limit. Default 1,000. */
  readonly maxUnfinishedPerPrincipal?: number | null = number({
    min: 1,
    orNull: true,
    default: 1_000,
    variable: "HOLDFAST_MAX_UNFINISHED_PER_PRINCIPAL",
  });
  /** Maximum number of unfinished tasks in total, including those of unidentified callers. `null`: no limit. Default 10,000. */
  readonly maxUnfinished?: number | null = number({
    min: 1,
    orNull: true,
    default: 10_000,
    variable: "HOLDFAST_MAX_UNFINISHED",
  });
  /** Maximum number of stored tasks of one principal, finished ones included. `null`: no limit. Default 20,000. */
  readonly maxRetainedPerPrincipal?: number | null = number({
    min: 1,
    orNull: true,
    default: 20_000,
    variable: "HOLDFAST_MAX_RETAINED_PER_PRINCIPAL",
  });
  /** Maximum number of stored tasks in total. `null`: no limit. Default 1,000,000. */
  readonly maxRetained?: number | null = number({
    min: 1,
    orNull: true,
    default: 1_000_000,
    variable: "HOLDFAST_MAX_RETAINED",
  });
  /** Maximum number of questions of one task. One more rejects in its handler. Default 1,000. */
  readonly maxInputsPerTask?: number = number({
    min: 1,
    default: 1_000,
    variable: "HOLDFAST_MAX_INPUTS_PER_TASK",
  });
  /** Maximum number of tasks above a task whose handler calls another tool (`task.call`). A deeper call rejects. Default 16. */
  readonly maxCallDepth?: number = number({ min: 1, default: 16, variable: "HOLDFAST_MAX_CALL_DEPTH" });
  /** Maximum number of events stored for one task until its handler takes them. Sending one more is refused. Default 1,000. */
  readonly maxEventsPerTask?: number = number({
    min: 1,
    default: 1_000,
    variable: "HOLDFAST_MAX_EVENTS_PER_TASK",
  });
  /**
   * The public address of `createEventHandler`, for the addresses that handlers get as `url` of a wait for an event. Default: none, and
   * there are no such addresses.
   */
  readonly eventsUrl?: string = text(
    "an address, such as `https://example.com/events`",
    (url) => /^https?:\/\/./.test(url) && URL.canParse(url),
    {
      variable: "HOLDFAST_EVENTS_URL",
    },
  );
  /**
   * Maximum number of steps, questions, sleeps, tool calls, waits for events and artifacts of one task. One more rejects in its handler. Default 50,000.
   */
  readonly maxJournalEntries?: number = number({
    min: 1,
    default: 50_000,
    variable: "HOLDFAST_MAX_JOURNAL_ENTRIES",
  });
  /**
   * Total size of the step results, questions, answers and events of one task. A step or question that would exceed it rejects in its
   * handler. Default 256 MiB.
   */
  readonly maxJournalBytes?: number = size({
    min: 1,
    default: 256 * 1024 ** 2,
    variable: "HOLDFAST_MAX_JOURNAL_BYTES",
  });
  /**
   * Maximum size of each of: arguments, a result, a step result, a question, an answer, an event, and what one read gives of an artifact.
   * Default 4 MiB.
   */
  readonly maxBodyBytes?: number = size({
    min: 1,
    default: 4 * 1024 ** 2,
    variable: "HOLDFAST_MAX_BODY_BYTES",
  });
  /** Maximum JSON nesting depth of a message. A deeper one is refused. Default 128. */
  // Schemas and hashes go down a message by recursion.
  readonly maxNesting?: number = number({
    min: 1,
    max: 1_000,
    default: 128,
    variable: "HOLDFAST_MAX_NESTING",
  });
  /**
   * Maximum number of JSON values in a message, objects and arrays included. A message with more is refused before it is parsed. So is a
   * message with a single object of more members than a tenth of this number, if these are more than 1,000. Default 200,000.
   */
  readonly maxNodes?: number = number({ min: 1, default: 200_000, variable: "HOLDFAST_MAX_NODES" });
  /** Maximum size of a status text, and of the message of a progress report. What is longer is cut. Default 4 KiB. */
  readonly maxStatusBytes?: number = size({
    min: 64,
    default: 4 * 1024,
    variable: "HOLDFAST_MAX_STATUS_BYTES",
  });
  /** Maximum number of lines in the log of a task. Above it, the oldest are dropped. Default 1,000. */
  readonly maxLogLines?: number = number({ min: 1, default: 1_000, variable: "HOLDFAST_MAX_LOG_LINES" });
  /** Maximum total size of these lines. A line of more than 64 KiB is cut in any case. Default 256 KiB. */
  readonly maxLogBytes?: number = size({
    min: 1,
    default: 256 * 1024,
    variable: "HOLDFAST_MAX_LOG_BYTES",
  });
  /** Maximum number of content blocks in the output of a task. What comes after them is not kept. Default 1,000. */
  readonly maxOutputBlocks?: number = number({
    min: 1,
    default: 1_000,
    variable: "HOLDFAST_MAX_OUTPUT_BLOCKS",
  });
  /** Maximum total size of these blocks. Default 1 MiB. */
  readonly maxOutputBytes?: number = size({
    min: 1,
    default: 1024 ** 2,
    variable: "HOLDFAST_MAX_OUTPUT_BYTES",
  });
  /** Maximum size of an artifact (`task.artifact`). A larger one rejects in its handler. Default 1 GiB. */
  readonly maxArtifactBytes?: number = size({
    min: 1,
    default: 1024 ** 3,
    variable: "HOLDFAST_MAX_ARTIFACT_BYTES",
  });
  /** Maximum number of artifacts of one task. One more rejects in its handler. Default 100. */
  readonly maxArtifactsPerTask?: number = number({
    min: 1,
    default: 100,
    variable: "HOLDFAST_MAX_ARTIFACTS_PER_TASK",
  });
  /** Maximum number of webhook messages waiting in the store. Above it, the oldest are dropped within a minute. Default 100,000. */
  readonly maxDeliveries?: number = number({ min: 1, default: 100_000, variable: "HOLDFAST_MAX_DELIVERIES" });
  /** Crashes in a row that count against a task, without progress between them, after which it fails. Default 5. */
  readonly maxCrashes?: number = number({ min: 1, default: 5, variable: "HOLDFAST_MAX_CRASHES" });
  /** The pause before a task runs again after its second crash in a row. It doubles with each further crash. Default 1 second. */
  readonly crashBackoffMs?: TimeSpan = time({ min: 0, default: 1_000, variable: "HOLDFAST_CRASH_BACKOFF" });
  /** The longest such pause. Default 1 minute. */
  readonly maxCrashBackoffMs?: TimeSpan = time({
    min: 0,
    default: 60_000,
    variable: "HOLDFAST_MAX_CRASH_BACKOFF",
  });
  /**
   * The folder in which processes that `task.exec` starts leave their output and exit codes, for this user alone. The servers of a machine find them
   * there again, so all that run the same tools need the same one, which outlives them. Default `holdfast/exec` in `$XDG_STATE_HOME`, or
   * `~/.local/state`.
   */
  readonly execFolder?: string = text("a path", (path) => path !== "", { variable: "HOLDFAST_EXEC_FOLDER" });
  /**
   * The most threads on which steps run that compute (`task.step` with `worker`). Default: one less than the machine has processors, and at least one.
   */
  readonly workerThreads?: number = number({ min: 1, variable: "HOLDFAST_WORKER_THREADS" });
  /** Maximum size of the heap of each of these threads. A step that needs more crashes its thread, and fails. Default: as Node sets it. */
  readonly maxWorkerHeapBytes?: number = size({
    min: 16 * 1024 ** 2,
    variable: "HOLDFAST_MAX_WORKER_HEAP_BYTES",
  });
  /** How long tasks wait for a tool, or a version of one, that no process on the store has. Then they are blocked. Default 1 minute. */
  readonly unregisteredGraceMs?: TimeSpan = time({
    min: 0,
    default: 60_000,
    variable: "HOLDFAST_UNREGISTERED_GRACE",
  });
  /**
   * How long a task stays blocked that the code of no process can continue, because a deploy changed what it depends on. It is tried again
   * meanwhile, and then it fails. Default 7 days.
   */
  readonly maxBlockedMs?: TimeSpan = time({
    min: 0,
    default: 7 * 24 * hour,
    variable: "HOLDFAST_MAX_BLOCKED",
  });
  /** A name of this deploy, such as a commit. Operators see it with the tasks that this deploy could not continue. */
  readonly deploy?: string = text("a name", (given) => given !== "", { variable: "HOLDFAST_DEPLOY" });
}

/** Options of how tasks run. Times are in milliseconds, sizes in bytes of UTF-8 JSON text. */
export interface RuntimeOptions extends DeclaredRuntimeOptions {}

export const runtimeOptions = tableOf<RuntimeOptions>(DeclaredRuntimeOptions);

type WithoutDefault = "limits" | "ttlMs" | "deploy" | "execFolder" | "workerThreads" | "maxWorkerHeapBytes";

/** The options with their defaults. */
export type RuntimeSettings = Settings<RuntimeOptions, WithoutDefault>;

/** The options with their defaults. Throws `configuration` for those that do not fit together; each was checked before. */
export function runtimeSettings(given: RuntimeOptions): RuntimeSettings {
  const settings = settingsOf<RuntimeOptions, WithoutDefault>(runtimeOptions, given);
  const { minTtlMs, maxTtlMs } = settings;
  if (minTtlMs <= maxTtlMs) return settings;
  const message = `minTtlMs is ${minTtlMs}, which is more than maxTtlMs (${maxTtlMs}).`;
  throw new HoldfastError("configuration", message);
}

export const defaultSettings = runtimeSettings({});
