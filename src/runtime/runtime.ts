import type { Secret } from "../task/secret.ts";
import type { SecretName } from "./secrets.ts";
import type { SessionStore } from "../store/session-store.ts";
import type { KeyedTask, TaskStore, WireName, ReserveMemory } from "../store/store.ts";
import type { Artifact } from "../task/artifact.ts";
import type { LineList, LogText, TaskLine } from "../task/task-line.ts";
import type { ArtifactPart, ArtifactRange } from "./artifacts.ts";
import type {
  GenerationName,
  Origin,
  Progress,
  TaskMethod,
  TaskRecord,
  TaskSnapshot,
  TraceContext,
} from "../task/record.ts";
import type { InputAnswer, InputMethod, JournalKey } from "../task/journal.ts";
import type { Outcome } from "../task/outcome.ts";
import type { ArtifactBlobs } from "./blobs/artifact-blobs.ts";
import type { StoreClock } from "./clock.ts";
import type { RuntimeSettings } from "./options.ts";
import type { TaskCaller } from "./tool/task-caller.ts";
import type { CallExtras } from "./tool/received-request.ts";
import type { ServerTelemetry, TaskTraces } from "./telemetry/telemetry.ts";
import type { Registry } from "./tool/registry.ts";
import type { Tool } from "./tool/tool.ts";
import type { QuestionOptions } from "./tool/task-context.ts";
import type { Read } from "../options/options.ts";
import type { Watcher } from "./changed-tasks.ts";

/** Who made a task, and through which generation: no other requestor sees the task. A client of several generations is several. */
export interface Requestor {
  readonly generation: GenerationName;
  readonly principal: string | null;
  /** The scopes of the requestor's token: tasks that need more are refused and not listed. Left out: everything. */
  readonly scopes?: readonly string[] | undefined;
}

/**
 * Receives at once what a handler reports while there is no task. Errors that it throws are ignored. Without a listener, reports are
 * dropped.
 */
export interface CallListener {
  /** Receives each report of progress. */
  readonly progress?: (report: Progress) => void;
  /** Receives each line of the log, except those that a step repeats. */
  readonly log?: (line: LogText) => void;
}

/** Asks the client a handler's question and resolves with the answer's result object. */
export type Ask = (
  key: JournalKey,
  method: InputMethod,
  params: object,
  options: Read<QuestionOptions>,
) => Promise<unknown>;

export interface InlineRun extends CallExtras, CallListener {
  readonly tool: Tool;
  readonly arguments: unknown;
  readonly caller: TaskCaller;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared?: string | null;
  /** True if the tool's `prepare` did not run before: it runs now, and asks through `ask` like the handler. */
  readonly prepareInTask?: true;
  /** Aborts the handler, for example when the caller disconnects. */
  readonly signal: AbortSignal;
  /** The trace context that the caller's request began. */
  readonly trace?: TraceContext | undefined;
  /** How questions reach the caller. */
  readonly ask: Ask;
}

/** One accepted request that becomes a task. */
export interface TaskCall extends Requestor, CallExtras, CallListener {
  /** An id from `taskId`, if the caller must know it before the task runs; default: a new one. */
  readonly id?: string;
  /** The type of the request; default: tools/call. */
  readonly method?: TaskMethod;
  /** The tool, or the method if the request is not a tools/call. */
  readonly tool: string;
  /** As the requestor sent them; undefined if it sent none. */
  readonly arguments: unknown;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared?: string | null;
  /**
   * True if the requestor has no rounds in which `prepare` could ask before the task exists: the attempt runs it before the handler, with
   * questions of the task.
   */
  readonly prepareInTask?: true;
  readonly origin: Origin;
  /** The scopes that the task needs in addition to those of every request; default: none. */
  readonly requiredScopes?: readonly string[];
  /**
   * The ttl that the requestor asked for, in ms: used within `minTtlMs` and `maxTtlMs`, as `requestedTtl` says. `invalid_params`
   * unless it is a number from 0.
   */
  readonly ttlMs?: number;
  /** True if the ttl counts from the end of the task: until then only `maxRunMs` limits it (S-072, A-30). */
  readonly keepAlive?: true;
  /** True if the task is first queued, even if a slot is free (S-026). */
  readonly queued?: true;
  /**
   * How long the task is kept after its end, in ms, if it would otherwise be kept longer: for a requestor who waits for the result and has
   * no other way to get it. A ttl limits its run as usual.
   */
  readonly keptMs?: number;
  /** */
  readonly idempotencyKey?: string;
  /** What the requestor answered before there was a task: with the same key and other answers, it is another call. */
  readonly answers?: unknown;
  /** True if the requestor has no tasks and waits here for the result: other processes know of it until `leave` or `delivered`. */
  readonly awaited?: true;
  /** True if a requestor that does not wait may come back for the result. */
  readonly promised?: true;
  /** The task's name on the wire, unique in its generation and `scope`; default: its id. */
  readonly wireId?: string;
  /** The scope in which `wireId` is unique; default: the generation alone. */
  readonly scope?: string;
}

/** How requestors that waited in this process left. */
export interface Leaving {
  /** Whether others still wait here. */
  readonly stays: boolean;
  /** Whether one of them has a ticket for the result. */
  readonly promised: boolean;
  /** When the task is cancelled (epoch ms), unless its result is wanted; `null`: not at all. */
  readonly cancelBy: number | null;
}

/** An event for a task from the server's own code. */
export interface TaskEvent {
  /** The name under which a handler waits for it. */
  readonly name: string;
  /** Plain JSON data; left out: null. */
  readonly value?: unknown;
  /** Identifies the event, if it may be sent more than once. */
  readonly dedupeId?: string | undefined;
  /** The encoded key of the one wait that it may end; left out: it ends the oldest wait for its name. */
  readonly key?: string;
}

/** A part of the log or the output of a task. */
export interface LinesPage {
  readonly list: LineList;
  /** The number of the last line before this part; 0: it begins with the first line that is kept. */
  readonly after: number;
  readonly limit: number;
}

/** A part of a list of tasks. */
export interface ListPage {
  /** Only tasks whose wire ids are unique in this scope, which is not empty. */
  readonly scope?: string;
  /** The id of the last task before this part; left out, it begins with the newest task. */
  readonly after?: string;
  /** Maximum number of tasks. */
  readonly limit: number;
}

/** How a call is answered: with its task, or directly. */
export type CallEnd =
  | { readonly kind: "task"; readonly snapshot: TaskSnapshot }
  | { readonly kind: "outcome"; readonly outcome: Outcome };

/** A task after a cancel. It had ended before, unless it is `cancelled` by this one. */
export interface CancelledNow {
  readonly task: TaskRecord;
  readonly cancelled: boolean;
}

/** What a process does while it has the store open. */
export interface BesideTasks {
  start(): void;
  /** Resolves when it writes nothing any more. */
  stop(): Promise<void>;
}

/**
 * The neutral commands to which every generation's messages are mapped. Unknown, foreign and deleted ids are the same fault, `unknown_task`
 * a requestor's own task that needs more scopes is `insufficient_scope`.
 */
export interface Runtime {
  readonly registry: Registry;
  /** Write to it only through this object; changes made past it are not reported here. */
  readonly store: TaskStore;
  readonly options: RuntimeSettings;
  readonly clock: StoreClock;
  /** Where artifacts are kept, if not in the store. */
  readonly blobs: ArtifactBlobs | undefined;
  /** The store's sessions, if it has them. Use them between `start` and `stop`. */
  readonly sessions: SessionStore | undefined;
  /** Undefined if nothing is traced and measured. */
  readonly telemetry: ServerTelemetry | undefined;
  /** The traces of tasks; undefined if nothing is traced. */
  readonly traces: TaskTraces | undefined;
  /**
   * Opens the store, takes over what an earlier process left, and begins to run tasks. Tasks that expired meanwhile are ended in the
   * background. Idempotent.
   */
  start(): Promise<void>;
  /** Starts no more tasks, and releases handlers at their next journalled call; everything else continues until `stop`. */
  drain(): void;
  /**
   * Accepts no new calls, lets handlers end for `withinMs` (default `stopDeadlineMs`), releases the rest, closes the store. Calls still
   * being created then reject with `stopping`.
   */
  stop(withinMs?: number): Promise<void>;
  /** Whether an operator drains this process. */
  readonly isDrained: boolean;
  /** Whether it can accept tasks: it has started, takes work, is not stopping, and its store answers a read and takes writes within that many milliseconds. */
  ready(withinMs: number): Promise<boolean>;
  /** Resolves once the task is durable. Rejects with `wire_id_taken`, `idempotency_conflict`, `limit_reached`. */
  create(call: TaskCall): Promise<TaskSnapshot>;
  /**
   * As `create`, but a tool with `promoteAfterMs` may be answered directly. `signal` aborts when the caller leaves; it does not affect a
   * task.
   */
  call(call: TaskCall, signal: AbortSignal): Promise<CallEnd>;
  /** Runs a tool without a record and resolves with its outcome. */
  runInline(run: InlineRun): Promise<Outcome>;
  /** The principal's tasks whose idempotency keys begin with `prefix`, in order of the keys, at most `limit`. */
  withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]>;
  /** The id of the task with this wire name, whoever owns it, or undefined. `get` decides whether it is visible. */
  find(wire: WireName): Promise<string | undefined>;
  /**
   * The result of a finished task reached a caller who only knows its call. From now on the same call under the same idempotency key is a
   * new one. With `deleteBy` (epoch ms) the task is deleted then, if not earlier, unless a caller has a ticket for it. Does nothing to
   * other tasks.
   */
  delivered(id: string, requestor: Requestor, deleteBy?: number): Promise<void>;
  /**
   * `unasked`: for the server itself, instead of a request that names the task (see `undelivered`). A large outcome is read after `reserve` has
   * resolved; the result rejects as that does.
   */
  get(id: string, requestor: Requestor, why?: "unasked", reserve?: ReserveMemory): Promise<TaskSnapshot>;
  /** Whether the requestor has such a task, and it has ended; false if that cannot be read. */
  hasEnded(id: string, requestor: Requestor): Promise<boolean>;
  /** Records that the result of the task, which was read before, goes to its requestor, by this method or polling tool. */
  retrieved(task: TaskRecord, via: string): void;
  /** The answer that told the client the id of its new task did not reach it: see `abandonAfterMs`. */
  undelivered(task: TaskRecord): void;
  /**
   * The requestor's own tasks, newest first, as far as `get` would show them (C-075). Unreadable ones are left out. Fewer than `limit` are
   * the last ones.
   */
  list(requestor: Requestor, page: ListPage): Promise<readonly TaskRecord[]>;
  /** The scopes that a task of the principal needs; undefined if there is no such task. */
  scopesOf(id: string, principal: string | null): Promise<readonly string[] | undefined>;
  /**
   * Calls `watcher` with the id after each committed change of these tasks, whoever owns them: `get` decides what is visible. Returns a
   * function that stops it.
   */
  watch(ids: readonly string[], watcher: Watcher): () => void;
  /**
   * The lines of the task's log or output with numbers above `after`, at most `limit`. Rejects with `invalid_params` if the store keeps
   * none. To learn of more, watch the task: its record counts them. `unasked`: as for `get`.
   */
  lines(id: string, requestor: Requestor, page: LinesPage, why?: "unasked"): Promise<readonly TaskLine[]>;
  /** The artifacts of the task that are complete. */
  artifacts(id: string, requestor: Requestor): Promise<readonly Artifact[]>;
  /**
   * The bytes of an artifact from `from` on, at most `most`; undefined if the task has none of this name. Rejects with `invalid_params` if it
   * is larger than a read may be and was not asked for in parts.
   */
  artifact(id: string, requestor: Requestor, range: ArtifactRange): Promise<ArtifactPart | undefined>;
  /**
   * Accepts the answers to open questions, of the task and of those below it; ignores others, and everything on a finished task (X-063,
   * If an answer does not fit its open question, rejects with `invalid_params` and accepts none: all questions stay open. An answer
   * that is an error makes the handler's call reject with `input_failed`. Rejects with `insufficient_scope` if a question belongs to a task
   * below for which the requestor lacks scopes.
   */
  answer(id: string, requestor: Requestor, answers: readonly InputAnswer[]): Promise<void>;
  /**
   * Resolves once the event is stored with the task, whoever owns it: with false if one came before under the same `dedupeId`. Rejects with
   * `unknown_task`, with `finished` if the task has ended, `limit_reached`, `not_json` and `too_large`.
   */
  sendEvent(id: string, event: TaskEvent): Promise<boolean>;
  /** 32 random bytes that the store keeps under `name`: the same in every process on it, also after a restart. They may have versions. */
  secret(name: SecretName): Promise<Secret>;
  /** Makes the request durable and tells the handler. Does nothing to a finished task. */
  cancel(id: string, requestor: Requestor): Promise<void>;
  /**
   * A requestor without tasks waits here for the result. Resolves with the task; with `awaited` if requestors in other processes wait and
   * this one must be the only one (`alone`), or the result is on its way to them; with `released` if the task does not have the idempotency
   * key `key`.
   */
  join(
    id: string,
    requestor: Requestor,
    terms: { readonly alone: boolean; readonly key?: string },
  ): Promise<TaskRecord | "awaited" | "released">;
  /** No such requestor waits here any more, or some still do. */
  leave(id: string, requestor: Requestor, how: Leaving): Promise<void>;
  /**
   * As `cancelNow`, unless a requestor in another process waits for the result or has a ticket for it: then it resolves with undefined.
   */
  cancelUnlessWanted(id: string, requestor: Requestor): Promise<CancelledNow | undefined>;
  /**
   * Ends the task as cancelled before it resolves, and tells the handler, whose result or throw no longer counts (C-079 to C-081). A
   * handler that continues anyway keeps its slot for `cancelGraceMs`. A task that had ended before stays as it is.
   */
  cancelNow(id: string, requestor: Requestor): Promise<CancelledNow>;
  /** Deletes a finished task and all its data. Resolves with a task that has not ended, which is kept (S-053, S-054). */
  delete(id: string, requestor: Requestor): Promise<TaskRecord | undefined>;
  /** Call it before `start`: from then on until `stop`, `work` goes on beside the tasks. */
  beside(work: BesideTasks): void;
  /** Other code has written to this process's store: tasks may be queued, or due. */
  lookForWork(): void;
  /** What the task stores about the request that created it, for the server itself. */
  originOf(id: string, requestor: Requestor): Promise<Origin>;
}
