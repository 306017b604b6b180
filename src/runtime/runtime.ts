import type { SessionStore } from "../store/session-store.ts";
import type { KeyedTask, TaskStore, WireName } from "../store/store.ts";
import type { LineList, TaskLine } from "../task/task-line.ts";
import type { TaskSnapshot } from "../task/snapshot.ts";
import type { InputAnswer } from "../task/input.ts";
import type { Outcome } from "../task/outcome.ts";
import type { GenerationName } from "../task/generations.ts";
import type { Origin, TaskMethod, TaskRecord } from "../task/record.ts";
import type { Clock } from "./clock.ts";
import type { RuntimeOptions } from "./options.ts";
import type { CallExtras } from "./tool/credentials.ts";
import type { TaskTraces } from "./telemetry/task-traces.ts";
import type { ServerTelemetry } from "./telemetry/telemetry.ts";
import type { Registry } from "./tool/registry.ts";
import type { CallListener } from "./execution/call-listener.ts";
import type { InlineRun } from "./execution/run-inline.ts";
import type { Watcher } from "./watchers.ts";

/** Whose task, made through which generation: a task is visible to nobody else, and through no other. */
export interface Requestor {
  readonly generation: GenerationName;
  readonly principal: string | null;
  /** What the requestor's token is good for: tasks that need more are refused and not listed. Left out: everything. */
  readonly scopes?: readonly string[] | undefined;
}

/** One accepted request that becomes a task. */
export interface TaskCall extends Requestor, CallExtras, CallListener {
  /** The task's id, from `taskId`, where somebody has to know it before the task runs; by default a new one. */
  readonly id?: string;
  /** Of what kind the request is; by default a tools/call. */
  readonly method?: TaskMethod;
  /** The tool; for another request than a tools/call its method. */
  readonly tool: string;
  /** As the requestor sent them; undefined where it sent none. */
  readonly arguments: unknown;
  /** Raw JSON of what the tool's `prepare` returned. */
  readonly prepared?: string | null;
  /**
   * True where the requestor has no rounds in which `prepare` could ask before there is a task: the task's attempt runs
   * it, with questions of the task, before the handler.
   */
  readonly prepareInTask?: true;
  readonly origin: Origin;
  /** The scopes that the task needs, beyond those of every request; by default none. */
  readonly requiredScopes?: readonly string[];
  /**
   * The ttl that the requestor asked for, in ms: used within `minTtlMs` and `maxTtlMs`, as `requestedTtl` says. What
   * is no number from 0 on is `invalid_params`.
   */
  readonly ttlMs?: number;
  /** True where the ttl counts from the end of the task: until then `maxRunMs` alone bounds it (S-072, A-30). */
  readonly keepAlive?: true;
  /** True where the task waits in the queue first, whether or not a handler is free (S-026). */
  readonly queued?: true;
  /**
   * How long the task is kept from its end, in ms, where it would be kept for longer: for a requestor who waits for the
   * result and knows no other way to it. A ttl bounds its run as that of any other.
   */
  readonly keptMs?: number;
  /** */
  readonly idempotencyKey?: string;
  /** True where the requestor knows no tasks, and waits here for the result: other processes know of it until `leave` or `delivered`. */
  readonly awaited?: true;
  /** True where somebody may come back for the result who does not wait for it. */
  readonly promised?: true;
  /** What the task is called on the wire, unique in its generation and `scope`; by default its id. */
  readonly wireId?: string;
  /** In what `wireId` is unique; by default nothing but the generation. */
  readonly scope?: string;
}

/** How requestors left that waited in this process. */
export interface Leaving {
  /** Whether others still wait here. */
  readonly stays: boolean;
  /** Whether one was told how to come back for the result. */
  readonly promised: boolean;
  /** When the task is cancelled (epoch ms), unless somebody wants the result; `null`: not at all. */
  readonly cancelBy: number | null;
}

/** What the server's own code tells a task. */
export interface TaskEvent {
  /** Of which name a handler waits for it. */
  readonly name: string;
  /** Plain JSON data; left out: null. */
  readonly value?: unknown;
  /** The same for the same event, where it may be sent more than once. */
  readonly dedupeId?: string | undefined;
}

/** A part of the log or the output of a task. */
export interface LinesPage {
  readonly list: LineList;
  /** The number of the last line before this part; 0: it begins with the first one that is kept. */
  readonly after: number;
  readonly limit: number;
}

/** A part of a list of tasks. */
export interface ListPage {
  /** Those alone whose wire ids are unique in this scope, which is not empty. */
  readonly scope?: string;
  /** The id of the last task before this part; left out, it begins with the newest task. */
  readonly after?: string;
  /** How many tasks at most. */
  readonly limit: number;
}

/** How a call is answered: with its task, or at once. */
export type CallEnd =
  | { readonly kind: "task"; readonly snapshot: TaskSnapshot }
  | { readonly kind: "outcome"; readonly outcome: Outcome };

/**
 * The neutral commands that every generation's messages come down to. Unknown, foreign and deleted ids are one and
 * the same fault, `unknown_task`; a task of the requestor that needs more scopes is `insufficient_scope`.
 */
export interface Runtime {
  readonly registry: Registry;
  /** Through which this process writes: what is written past it, nobody here is told of. */
  readonly store: TaskStore;
  readonly options: RuntimeOptions;
  readonly clock: Clock;
  /** Those that the store keeps, if it does; to be used between `start` and `stop`. */
  readonly sessions: SessionStore | undefined;
  /** Undefined where nothing is traced and measured. */
  readonly telemetry: ServerTelemetry | undefined;
  /** To which traces tasks belong; undefined where nothing is traced. */
  readonly traces: TaskTraces | undefined;
  /**
   * Opens the store, takes over what an earlier process left, and begins to run tasks. Tasks that expired meanwhile are ended
   * in the background. Idempotent.
   */
  start(): Promise<void>;
  /** Starts no more tasks, and lets handlers leave at their next journalled call; all else goes on until `stop`. */
  drain(): void;
  /**
   * Takes no new calls, lets handlers end for `withinMs` (default `stopDeadlineMs`), releases the rest, closes the store.
   * Calls that are still being made then reject with `stopping`.
   */
  stop(withinMs?: number): Promise<void>;
  /** Whether it can take tasks: it has started and does not stop, and its store answers a read in so many milliseconds. */
  ready(withinMs: number): Promise<boolean>;
  /** Resolves once the task is durable. Rejects with `wire_id_taken`, `idempotency_conflict`, `limit_reached`. */
  create(call: TaskCall): Promise<TaskSnapshot>;
  /**
   * As `create`, but a tool with `promoteAfterMs` may be answered directly. `signal` tells that the caller went away;
   * it means nothing to a task.
   */
  call(call: TaskCall, signal: AbortSignal): Promise<CallEnd>;
  /** Runs a tool without a record and resolves with what it answers. */
  runInline(run: InlineRun): Promise<Outcome>;
  /** The principal's tasks whose idempotency keys begin with `prefix`, in order of the keys, at most `limit`. */
  withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]>;
  /** The id of the task that is called so on the wire, whoever owns it, or undefined: whether it shows is for `get` to say. */
  find(wire: WireName): Promise<string | undefined>;
  /**
   * The result of a finished task reached the caller who knows it by its call: the same call under the same idempotency
   * key is a new one from now on. With `deleteBy` (epoch ms) the task is deleted then, if not earlier, unless somebody was told how
   * to come back for it. Does nothing to another task.
   */
  delivered(id: string, requestor: Requestor, deleteBy?: number): Promise<void>;
  get(id: string, requestor: Requestor): Promise<TaskSnapshot>;
  /**
   * The requestor's own tasks, newest first, as far as `get` would show them (C-075). One that can be read no more is left
   * out. Fewer than `limit` are the last ones.
   */
  list(requestor: Requestor, page: ListPage): Promise<readonly TaskRecord[]>;
  /** The scopes that a task of the principal needs; undefined where there is no such task. */
  scopesOf(id: string, principal: string | null): Promise<readonly string[] | undefined>;
  /**
   * Calls `watcher` with the id after each committed change of these tasks, whoever owns them: what there is to see is
   * for `get` to say. Returns the way to stop it.
   */
  watch(ids: readonly string[], watcher: Watcher): () => void;
  /**
   * The lines of the task's log or output with numbers above `after`, at most `limit`. Rejects with `invalid_params` where the store keeps
   * none. To know of more, watch the task: its record counts them.
   */
  lines(id: string, requestor: Requestor, page: LinesPage): Promise<readonly TaskLine[]>;
  /**
   * Takes the answers to open questions, of the task and of those below it; ignores others, and everything on a finished task. Where one to an
   * open question is not what that asks for, it is `invalid_params`, and none is taken: all questions stay open. An answer
   * that is an error makes the handler's call reject with `input_failed`. Rejects with `insufficient_scope` where a question is of a task below
   * for which the requestor's scopes are not enough.
   */
  answer(id: string, requestor: Requestor, answers: readonly InputAnswer[]): Promise<void>;
  /**
   * Resolves once the event is stored with the task, whosever it is: false where one came before under the same `dedupeId`. Rejects with
   * `unknown_task`, with `finished` where the task has ended, `limit_reached`, `not_json` and `too_large`.
   */
  sendEvent(id: string, event: TaskEvent): Promise<boolean>;
  /** 32 random bytes that the store keeps under `name`: the same in every process on it, after a restart too. */
  secret(name: string): Promise<Uint8Array>;
  /** Makes the request durable and tells the handler; nothing happens on a finished task. */
  cancel(id: string, requestor: Requestor): Promise<void>;
  /**
   * A requestor that knows no tasks waits here for the result. Resolves with the task; with `awaited` where requestors in other processes
   * wait and this one is to be the only one (`alone`), or the result is on its way to them; with `released` where the task has not, or not
   * any more, the idempotency key `key`.
   */
  join(
    id: string,
    requestor: Requestor,
    terms: { readonly alone: boolean; readonly key?: string },
  ): Promise<TaskRecord | "awaited" | "released">;
  /** No such requestor waits here any more, or some still do. */
  leave(id: string, requestor: Requestor, how: Leaving): Promise<void>;
  /**
   * As `cancelNow`, unless a requestor in another process waits for the result, or was told how to come back for it: then it resolves with
   * undefined.
   */
  callOff(id: string, requestor: Requestor): Promise<TaskRecord | undefined>;
  /**
   * Ends the task as cancelled before it resolves, and tells the handler, whose result or throw no longer counts
   * (C-079 to C-081). A handler that goes on all the same keeps its slot for `cancelGraceMs`. Rejects with `finished`
   * where the task has ended before (C-078).
   */
  cancelNow(id: string, requestor: Requestor): Promise<TaskSnapshot>;
  /** Deletes a task that has ended, with all that is kept of it. Rejects with `unfinished` before its end (S-053, S-054). */
  delete(id: string, requestor: Requestor): Promise<void>;
  /** Somebody else has written to the store of this process: tasks may have been queued, or may be due. */
  lookForWork(): void;
  /** What the task remembers of the request that created it. */
  originOf(id: string, requestor: Requestor): Promise<Origin>;
}
