/**
 * The record of a task: everything that is stored of it besides its bodies (arguments, outcome, journal).
 * - Plain data: every read of it is consistent, and every answer to a client is derived from it.
 * - Only the functions of `decide.ts` and `create-record.ts` make one; stores write what these return.
 */

import type { TaskAttempt } from "./attempts.ts";
import type { Outcome, OutcomeKind, Suspicion, TaskState } from "./outcome.ts";
import type { Blocked } from "./blocked.ts";
import type { InputRequest, WaitReason } from "./journal.ts";

/**
 * Request types that a task can represent; a list, so that more can be added. `other` is a type that only the server behind
 * `holdfast/sdk-v1` knows: the request contains its name.
 */
export type TaskMethod =
  "tools/call" | "resources/read" | "prompts/get" | "sampling/createMessage" | "elicitation/create" | "other";

export const taskMethods: Readonly<Record<TaskMethod, true>> = {
  "tools/call": true,
  "resources/read": true,
  "prompts/get": true,
  "sampling/createMessage": true,
  "elicitation/create": true,
  other: true,
};

/**
 * Why a queued task can be claimed: it is new, its wait has ended, or its last attempt was lost or failed. Suspects have a lane of their own,
 * from which one at a time runs (`suspicion.ts`). Each lane is a separate queue, so that none waits behind another.
 */
export type QueueLane = "new" | "woken" | "recovered" | "suspect";

/** What authentication returned about a caller besides the principal. It is stored with a task, and never contains a token. */
export interface CallerDetails {
  /** The OAuth client. */
  readonly clientId?: string;
  /** The scopes of the caller's token. */
  readonly scopes?: readonly string[];
  /** What the server's author chose to store: plain JSON data. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A part of a request that is not stored. `_meta`: only what an origin lacks of it. */
export type ReceivedPart = "_meta" | "envelope" | "sessionId" | "http";

/** Where a task came from. It decides how the task may communicate with its client later. */
export interface Origin {
  readonly session?: string;
  readonly requestId?: string | number;
  readonly progressToken?: string | number;
  /** The client's capabilities on the creating request. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly caller?: CallerDetails;
  /** Continues the trace that the creating request began or continued. */
  readonly trace?: TraceContext;
  /** The tool's `prepare` runs inside the task, because the creating request has no rounds for its questions. */
  readonly prepareInTask?: true;
  /** Parts of the request that were only kept in memory, for a handler written for the SDK. They are gone after a restart. */
  readonly received?: readonly ReceivedPart[];
  /** For a server's question: the server's own task that asks, by its id there. */
  readonly askedBy?: string;
  /** The task that an operator retried as this one; for the task of a call, the failed one that it takes up. */
  readonly retryOf?: string;
  /** The task has all that succeeded in `retryOf`, and its calls take up those that failed there. */
  readonly takesUp?: true;
  /** What the idempotency keys of its steps begin with; left out: its id. */
  readonly stepKeys?: string;
  /** For a task that another task made: the number of tasks above it. */
  readonly depth?: number;
  /** The scopes that tool calls by the task need, by tool name; set if the request was subject to scopes. */
  readonly toolScopes?: Readonly<Record<string, readonly string[]>>;
}

/** The task whose handler called another task's tool. */
export interface ParentTask {
  readonly id: string;
  /** The key of the call in its journal. */
  readonly key: string;
  /** The top task, which a requestor made. */
  readonly root: string;
  /** How long the handler may continue when its parent no longer wants the task (ms). */
  readonly cancelGraceMs: number;
}

/** The progress of a task, as its handler last reported it. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/**
 * The durable record of one request that is executed asynchronously: the hot row. Bodies (arguments, outcome, journal) are
 * stored separately. Times are epoch milliseconds.
 */
export interface TaskRecord {
  /** Time-ordered prefix and 122 random bits or more. */
  readonly id: string;
  /** The id on the wire, unique per generation and scope: the requestor's in SEP-1686, otherwise `id`. */
  readonly wireId: string;
  readonly generation: GenerationName;
  /** The scope in which `wireId` is unique: the principal or session in SEP-1686, otherwise empty. */
  readonly scope: string;
  /** The owner of the task; null if callers are not told apart and the id is the only key. */
  readonly principal: string | null;
  readonly method: TaskMethod;
  readonly tool: string;
  /**
   * The task whose handler made this one; null if a requestor made it. A task with a parent is deleted when it ends: its parent's journal
   * has the outcome. One that failed, or was cancelled with something in its journal, stays as long as its root.
   */
  readonly parent: ParentTask | null;
  /** The requestor's idempotency key, unique per principal. */
  readonly idempotencyKey: string | null;
  /** SHA-256 of tool and canonical arguments (RFC 8785), to compare calls. */
  readonly requestHash: string;
  /** OAuth scopes that the tool call needed, and that requests about the task need; usually none. */
  readonly requiredScopes: readonly string[];
  readonly state: TaskState;
  /** Counts changes, for caches, ordering and pushes. It does not guard writes. */
  readonly version: number;
  readonly createdAt: number;
  /** Changes with status, status text, ttl, poll interval or the set of open inputs. */
  readonly updatedAt: number;
  readonly finishedAt: number | null;
  readonly expiry: Expiry;
  /** When an unfinished task must end if its expiry sets no end (epoch ms). */
  readonly runUntil: number | null;
  /** When the sweeper must act next: end an unfinished task, or delete a finished one. */
  readonly sweepAt: number | null;
  readonly pollIntervalMs: number;
  readonly statusMessage: string | null;
  /** The handler's progress. It never goes back, because progress notifications must grow. */
  readonly progress: Progress | null;
  /** The number of the last line of its log and of its output, 0 if there is none: the total number of lines appended. */
  readonly logged: number;
  readonly outputs: number;
  /** Unanswered questions, including those of the tasks below it. */
  readonly openInputs: number;
  /** How many of these belong to tasks below it, if it is the root. */
  readonly childInputs: number;
  /** Its unfinished tool calls and waits for events. */
  readonly openWaits: number;
  readonly cancelRequestedAt: number | null;
  /**
   * When the task is cancelled (epoch ms): its handler has until then after a cancel request, or its caller left or never got its id, and may
   * come back until then. Null: never.
   */
  readonly cancelBy: number | null;
  /** The processes where callers without task support wait for the result, in order of arrival. May include dead processes. */
  readonly awaitedBy: readonly string[];
  /** True once such a caller was told how to come back for the result, or one that seemed not to have the task's id has used it. */
  readonly promised: boolean;
  /**
   * A process that has the store open. While the task is queued: the one that will run it, as long as it lives (null: any). While it runs:
   * the one that runs it. Null once it has finished.
   */
  readonly owner: string | null;
  /** The lane of a claimable queued task; null for one that waits, and in every other state. */
  readonly lane: QueueLane | null;
  /**
   * For a task in a lane: since when it can be claimed (epoch ms). For other queued tasks: when it continues by itself, `latestTime` if
   * only an answer or a cancel can wake it. The same for a running task whose handler rests, so that it is parked if its attempt is lost;
   * null while it works, and if it must not be parked.
   */
  readonly runAfter: number | null;
  /** Number of the attempt that holds or last held the task; 0 before the first. */
  readonly attempt: number;
  /** Its first attempt and its last ones, in order. */
  readonly attempts: readonly TaskAttempt[];
  /** The version of the tool when its first attempt started; null before that. */
  readonly toolVersion: number | null;
  /** How often its handler threw and had to run again. */
  readonly failures: number;
  /** True while the task runs and counts toward its handler's limit. */
  readonly limited: boolean;
  /** Held by the attempt that may write; null while queued or finished. */
  readonly token: string | null;
  /** When the first attempt got the task: its handler may have run since then. */
  readonly startedAt: number | null;
  /** True once a handler began its first step, input or sleep: a lost attempt can then be resumed. */
  readonly journalled: boolean;
  /** True while the handler waits for a client or a timer: a crash during that time is not the task's fault. */
  readonly waiting: boolean;
  /** Artifacts that were begun and have not ended; left out if there are none. */
  readonly openArtifacts?: number;
  /** What the handler waits for; `retry` also while it pauses after a crash or a failure. Null while it works, and if it is not known. */
  readonly waitsFor: WaitReason | null;
  /** Attempts lost since the last journal write. Not all of them count against the task. */
  readonly crashes: number;
  /** What crashes of its processes have to do with the task, as far as that is not clear from their number; left out if it is. */
  readonly suspicion?: Suspicion;
  /** The kind of a settled task's outcome, so that a list need not read outcomes; otherwise null. */
  readonly outcomeKind: OutcomeKind | null;
  /** The names of the webhooks to notify of its status changes; left out if there are none. */
  readonly notifies?: readonly string[];
  /** The first delivery of its result to its requestor; left out before. It is no change of the task. */
  readonly retrieved?: Retrieval;
  /** For a failed task: what it has in common with others of the same cause (`causeOf`), or in an encrypted store a keyed hash of that. */
  readonly cause?: string;
  /** The task as which an operator ran this finished one again last; left out before. */
  readonly retriedAs?: string;
  /** For an unfinished task that the code of a process could not continue, until it continues; left out otherwise. */
  readonly blocked?: Blocked;
}

/** A delivery of a task's result. */
export interface Retrieval {
  readonly at: number;
  /** The method, or the polling tool, that carried it. */
  readonly via: string;
}

/** The request: stored separately from the record, and read when an attempt starts. */
export interface TaskRequest {
  readonly origin: Origin;
  /** Raw JSON text of the arguments as the requestor sent them. */
  readonly arguments: string;
  /** Raw JSON text of what the tool's `prepare` returned; null for a tool without one, and if it returned nothing. */
  readonly prepared: string | null;
}

/**
 * How long a task is kept, in ms. From `created`, it also limits the task's run. From `terminal`, the task's end, it does not: the record's
 * `runUntil` does. `null`: no end.
 */
export interface Expiry {
  readonly from: "created" | "terminal";
  readonly ms: number | null;
}

/** How generations of tasks differ, apart from their wire forms. */
interface Generation {
  /** Whether clients see a ttl that counts from the creation of a task, and grows if the task is kept from its end. */
  readonly showsTtl: boolean;
  /** From when a ttl counts that a handler sets. */
  readonly handlerTtlFrom: Expiry["from"];
  /** Whether requestors choose the names of their tasks, instead of learning their ids. */
  readonly requestorsNameTasks: boolean;
  /**
   * The fault of a handler that asks for something that the client did not declare: a protocol error if there is one, otherwise a tool
   * result that reports it.
   */
  readonly undeclared: "missing_capability" | "input_failed";
}

/**
 * The generations of tasks, one wire form each, newest first; then `plain` for callers without task support, and `child` for tasks that
 * other tasks made, which requestors do not see. Code for both sides of the wire is in `src/generation`.
 */
export const generations = {
  "2026-07-28": {
    showsTtl: true,
    handlerTtlFrom: "created",
    requestorsNameTasks: false,
    undeclared: "missing_capability",
  },
  "2025-11-25": {
    showsTtl: true,
    handlerTtlFrom: "created",
    requestorsNameTasks: false,
    undeclared: "input_failed",
  },
  "sep-1686": {
    showsTtl: false, // its `keepAlive` counts from the end
    handlerTtlFrom: "terminal",
    requestorsNameTasks: true,
    undeclared: "input_failed",
  },
  plain: {
    showsTtl: false,
    handlerTtlFrom: "created",
    requestorsNameTasks: true,
    undeclared: "input_failed",
  },
  child: {
    showsTtl: false,
    handlerTtlFrom: "created",
    requestorsNameTasks: false,
    undeclared: "input_failed",
  },
} as const satisfies Readonly<Record<string, Generation>>;

/** One wire form of tasks, `plain` or `child`: see `generations`. */
export type GenerationName = keyof typeof generations;

export const generationNames = Object.keys(generations) as readonly GenerationName[];
/** Those whose requestors can list their tasks. */
export const listedGenerations: readonly GenerationName[] = ["2025-11-25", "sep-1686", "plain"];

/** A W3C Trace Context, as `_meta` carries it and a task stores it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** The keys of `_meta` that carry it. */
export const traceContextKeys = ["traceparent", "tracestate", "baggage"] as const;

/** Versions after 00 may append more fields. */
const traceparentForm =
  /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-[\da-f-]{0,100})?$/;

/** The length that W3C requires to be propagated at least, in bytes; stored with each task. */
const longestTracestate = 512;

const longestBaggage = 8_192;

/** The trace context in a request's `_meta`; undefined if it is missing or invalid. */
export function traceContextIn(meta: Readonly<Record<string, unknown>>): TraceContext | undefined {
  const { traceparent, tracestate, baggage } = meta;
  if (typeof traceparent !== "string" || !traceparentForm.test(traceparent)) return undefined;
  return {
    traceparent,
    ...(isShort(tracestate, longestTracestate) && { tracestate }),
    ...(isShort(baggage, longestBaggage) && { baggage }),
  };
}

function isShort(value: unknown, most: number): value is string {
  return typeof value === "string" && value.length <= most;
}

/** The part of a record that its creator decides; the rest follows from it. */
export type NewTask = Pick<
  TaskRecord,
  | "id"
  | "wireId"
  | "generation"
  | "scope"
  | "principal"
  | "method"
  | "tool"
  | "idempotencyKey"
  | "requestHash"
  | "requiredScopes"
  | "expiry"
  | "runUntil"
  | "pollIntervalMs"
  | "statusMessage"
  | "notifies"
>;

/** What the handler can change while it runs. Members that are left out stay unchanged. */
export interface TaskChanges {
  readonly statusMessage?: string | null;
  readonly pollIntervalMs?: number;
  readonly expiry?: Expiry;
  /** Ignored, with its total and message, if it is lower than the task's own; an equal one replaces these two. */
  readonly progress?: Progress;
  /** Whether the task waits for its client because of questions outside the journal. */
  readonly waiting?: boolean;
}

/** A task as one consistent read: every generation's answer is derived from it. */
export interface TaskSnapshot {
  readonly task: TaskRecord;
  /** Open inputs in the order in which they were asked; empty on a finished task. */
  readonly inputs: readonly InputRequest[];
  readonly outcome: Outcome | null;
}

/** The tool version with which a task started, once it has started: 1, that of tools that declare none, if the claim named none. */
export function versionOf({ toolVersion }: Pick<TaskRecord, "toolVersion">): number {
  return toolVersion ?? 1;
}

/** An operator's action on tasks, recorded in the same write as the change. */
export interface ActionBy {
  /** The operator's name, from authentication. */
  readonly actor: string;
  /** The action, in one word: `cancel`, `retry`. */
  readonly action: string;
  /** The task that it affects, if that is not the command's task. */
  readonly taskId?: string;
  /** The bulk job that it starts. */
  readonly job?: string;
  /** Further details as plain JSON data. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** A recorded action. */
export interface Action {
  readonly at: number;
  readonly actor: string;
  readonly action: string;
  /** The task that it affects; null for an action on a tool, or on many tasks. */
  readonly taskId: string | null;
  readonly tool: string | null;
  /** The bulk job of an action on many tasks. */
  readonly job: string | null;
  /** Raw JSON. */
  readonly detail: string | null;
}

/** A stored action; its number grows in the order of actions. */
export type StoredAction = Action & { readonly seq: number };
