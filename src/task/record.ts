import type { TaskAttempt } from "./attempts.ts";
import type { Expiry } from "./expiry.ts";
import type { GenerationName } from "./generations.ts";
import type { OutcomeKind } from "./outcome.ts";
import type { TaskState } from "./status.ts";
import type { TraceContext } from "./trace-context.ts";

/**
 * Request types that a task can stand for; a list, so that more can be added. `other` is one that only the
 * server behind `holdfast/sdk-v1` knows: its name stands in the request.
 */
export type TaskMethod =
  "tools/call" | "resources/read" | "prompts/get" | "sampling/createMessage" | "elicitation/create" | "other";

/**
 * Why a queued task can be claimed: nothing of it has run, what it waited for has come, or the attempt that held it is gone or has failed. Each
 * is a line of its own, so that none has to wait behind all of another.
 */
export type QueueLane = "new" | "woken" | "recovered";

/** What authentication said of a caller besides the principal: what is kept with a task, and never a token. */
export interface CallerDetails {
  /** The OAuth client. */
  readonly clientId?: string;
  /** Those of the caller's token. */
  readonly scopes?: readonly string[];
  /** What the server's author chose to keep: plain JSON data. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A part of a request that is not stored. `_meta`: more than what an origin has of it. */
export type ReceivedPart = "_meta" | "envelope" | "sessionId" | "http";

/** Where a task came from: what later decides how it may talk to its client. */
export interface Origin {
  readonly session?: string;
  readonly requestId?: string | number;
  readonly progressToken?: string | number;
  /** The client's capabilities on the creating request. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly caller?: CallerDetails;
  /** Where the trace goes on that the creating request began or continued. */
  readonly trace?: TraceContext;
  /** The tool's `prepare` runs inside the task, where the creating request has no rounds for its questions. */
  readonly prepareInTask?: true;
  /** What of the request was kept in memory only, of a handler that was written for the SDK: it is gone after a restart. */
  readonly received?: readonly ReceivedPart[];
  /** The task that an operator had run again, as this one. */
  readonly retryOf?: string;
  /** Of a task that another task made: how many tasks are above it. */
  readonly depth?: number;
  /** The scopes that calls of tools need, by their names, where the request was held to such: for the tools that the task calls. */
  readonly toolScopes?: Readonly<Record<string, readonly string[]>>;
}

/** The task whose handler called the tool of another one. */
export interface ParentTask {
  readonly id: string;
  /** Under which key its journal has the call. */
  readonly key: string;
  /** The task that a requestor made, above all of them. */
  readonly root: string;
  /** How long the handler may go on when the task is no longer wanted from above (ms). */
  readonly cancelGraceMs: number;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/**
 * The durable record of one request that is executed asynchronously: the hot row. Bodies (arguments, outcome,
 * journal) are kept apart from it. Times are epoch milliseconds.
 */
export interface TaskRecord {
  /** Time-ordered prefix and 122 random bits or more. */
  readonly id: string;
  /** The id on the wire, unique per generation and scope: the requestor's in SEP-1686, else `id`. */
  readonly wireId: string;
  readonly generation: GenerationName;
  /** In what `wireId` is unique: the principal or session in SEP-1686, else empty. */
  readonly scope: string;
  /** Who owns the task; null where callers are not told apart and the id is the only key. */
  readonly principal: string | null;
  readonly method: TaskMethod;
  readonly tool: string;
  /** Whose handler made the task; null for one that a requestor made. Such a task is deleted when it ends: its parent's journal has the outcome. */
  readonly parent: ParentTask | null;
  /** The requestor's idempotency key, unique per principal. */
  readonly idempotencyKey: string | null;
  /** SHA-256 of tool and canonical arguments (RFC 8785): tells the same call from another one. */
  readonly requestHash: string;
  /** OAuth scopes that the call needed as a call of its tool, and that whoever asks for the task needs; mostly none. */
  readonly requiredScopes: readonly string[];
  readonly state: TaskState;
  /** Counts changes, for caches, ordering and pushes; it guards no write. */
  readonly version: number;
  readonly createdAt: number;
  /** Changes with status, status text, ttl, poll interval or the set of open inputs. */
  readonly updatedAt: number;
  readonly finishedAt: number | null;
  readonly expiry: Expiry;
  /** When an unfinished task ends at the latest although its expiry sets it no end (epoch ms). */
  readonly runUntil: number | null;
  /** When the sweeper has to act next: end an unfinished task, delete a finished one. */
  readonly sweepAt: number | null;
  readonly pollIntervalMs: number;
  readonly statusMessage: string | null;
  /** How far the handler is; it never goes back, as progress that clients are notified of has to grow. */
  readonly progress: Progress | null;
  /** The number of the last line of its log and of its output, 0 where it has none: what its handler has appended to them in all. */
  readonly logged: number;
  readonly outputs: number;
  /** Questions that wait for an answer, those of the tasks below it included. */
  readonly openInputs: number;
  /** How many of these are of tasks below it, where it is the root. */
  readonly childInputs: number;
  /** Its calls of tools, and its waits for events, that have not ended. */
  readonly openWaits: number;
  readonly cancelRequestedAt: number | null;
  /**
   * When the task is cancelled (epoch ms): its requestor asked to cancel and its handler has until then, or its caller left
   * and may come back until then. Null: not at all.
   */
  readonly cancelBy: number | null;
  /** The processes at which callers wait for the result that know no tasks, in order of their arrival; those that died may be among them. */
  readonly awaitedBy: readonly string[];
  /** True once such a caller was told how to come back for the result. */
  readonly promised: boolean;
  /**
   * A process that has the store open: while the task is queued, the one that is to run it as long as it lives (null: any),
   * and while it runs, the one that runs it. Null once it has finished.
   */
  readonly owner: string | null;
  /** The line in which a queued task stands that can be claimed; null for one that waits, and in every other state. */
  readonly lane: QueueLane | null;
  /**
   * Of a task in a lane: since when it can be claimed (epoch ms). Of another queued task: when it goes on by itself, `latestTime`
   * for one that only an answer or a cancel can wake. The same of a running task whose handler rests, so that it is parked where its
   * attempt is lost; null while it works, and where it must not be parked.
   */
  readonly runAfter: number | null;
  /** Number of the attempt that holds or last held the task; 0 before the first. */
  readonly attempt: number;
  /** Its first attempt and its last ones, in their order; none of those that an older schema saw. */
  readonly attempts: readonly TaskAttempt[];
  /** The version of the tool when its first attempt began; null before, and where an older schema saw that. */
  readonly toolVersion: number | null;
  /** How often its handler threw and was to run again. */
  readonly failures: number;
  /** True while the task runs and counts for the limit of its handler. */
  readonly limited: boolean;
  /** Held by the attempt that may write; null while queued or finished. */
  readonly token: string | null;
  /** When the first attempt was given the task: from then on its handler may have run. */
  readonly startedAt: number | null;
  /** True once a handler began its first step, input or sleep: from then on a lost attempt can be resumed. */
  readonly journalled: boolean;
  /** True while the handler waits for a client or a timer: a crash in that time is not the task's fault. */
  readonly waiting: boolean;
  /** Attempts lost since the last journal write. */
  readonly crashes: number;
  /** Of what kind the outcome of a settled task is, so that a list needs to read no outcome; else null. */
  readonly outcomeKind: OutcomeKind | null;
  /** The webhooks that are told when its status changes, by their names; left out where there are none. */
  readonly notifies?: readonly string[];
}

/** What was asked for: kept beside the record, read when an attempt starts. */
export interface TaskRequest {
  readonly origin: Origin;
  /** Raw JSON text of the arguments as the requestor sent them. */
  readonly arguments: string;
  /** Raw JSON text of what the tool's `prepare` returned; null for a tool without one, and where it returned nothing. */
  readonly prepared: string | null;
}
