/**
 * Commands are the only way to change a store; their results say what became of them.
 * - Plain data, so that they can be batched, sent to a thread and replayed.
 * - A refusal is a result and not a fault: the caller decides what it means.
 */

import type { ActionBy, TaskRequest, NewTask, TaskChanges, TaskRecord } from "./record.ts";
import type { CrashBackoff, ClaimingHandler, Quota, Turns, Rest } from "./queue.ts";
import type { InputAnswer, InputRequest, JournalEntry, LoopCommands } from "./journal.ts";
import type { TaskLine } from "./task-line.ts";
import type { BlockCommands } from "./blocked.ts";
import type { DeliveryCommands, StoredDelivery } from "./delivery.ts";
import type { BulkCommands, BulkPlace, BulkResults, StartCommands, StartResults } from "./bulk.ts";
import type { Ending } from "./status-text.ts";

/**
 * Every change that a store makes, as plain data: one command is one atomic change, named after the event of the transition table that
 * allows it. `now` is the caller's clock; stores have none.
 */
export interface TaskCommands
  extends DeliveryCommands, BlockCommands, BulkCommands, StartCommands, LoopCommands {
  /** Inserts a task. With a `token` it is already running under it; otherwise it is queued, for the owner of the store or for any. */
  create: {
    readonly task: NewTask;
    readonly request: TaskRequest;
    readonly token: string | null;
    /** The version of the tool, if the task is already running. */
    readonly version?: number;
    /** Every owner may claim the queued task, not just this one as long as it lives. */
    readonly forAnyOwner?: true;
    /** A caller without task support, at this owner, waits for the task. */
    readonly awaited?: true;
    /** Such a caller may come back for the result by itself. */
    readonly promised?: true;
    /** If the task does not fit, it is refused as `quota`, unless it repeats a call under its idempotency key. */
    readonly quota?: Quota;
    /** Initial journal entries: ended entries of a task that ran before. */
    readonly journal?: readonly JournalEntry[];
    /**
     * The finished task that this one, which has no idempotency key and no quota, runs again; the same write says so there. Refused as
     * `state` before its end, and as `retried` if it was run again as another task than `known` (null: at all).
     */
    readonly retryOf?: { readonly id: string; readonly known: string | null };
  };
  /** `limited`: the task counts toward its handler's limit while it runs. `version`: that of its handler's tool. */
  start: { readonly id: string; readonly token: string; readonly limited?: true; readonly version?: number };
  /**
   * Starts claimable queued tasks, one under each token, by priorities of `handlers`, and by turns of principals and lanes
   * (`store/fair-order.ts`). Leaves out tasks that another living owner with their handler will run, tasks that none of `handlers` runs,
   * tasks whose handler's limit is reached, and suspects of ending their process, except one while no other runs.
   */
  claim: {
    readonly handlers: readonly ClaimingHandler[];
    readonly tokens: readonly string[];
    /** The turns after the last claim; left out for a first one. */
    readonly turns?: Turns;
  };
  /**
   * Returns the task to the queue. With `until` (epoch ms), it pauses there until then. If its handler rests, the task is parked until its
   * wait ends.
   */
  release: { readonly id: string; readonly token: string; readonly until?: number };
  /**
   * Returns a task whose handler threw to the queue: it runs again from `until` (epoch ms). Failed steps and calls, and steps that have not ended, run again.
   */
  retry: {
    readonly id: string;
    readonly token: string;
    readonly until: number;
    readonly statusMessage: string;
    /** Where the handler threw. */
    readonly stack?: string;
  };
  /** Parks a resting task; this process continues, and will run it again. */
  park: { readonly id: string; readonly token: string };
  /** Makes up to `limit` waiting queued tasks claimable whose time has come, or comes by `until` (epoch ms) where that is given. */
  wake: { readonly limit: number; readonly until?: number };
  /**
   * Sent before an attempt's first journalled call runs, when its handler begins to rest, and before it works again. `beforeHandler`: as in
   * `record_step`, after a wait for a limit.
   */
  mark: { readonly id: string; readonly token: string; readonly rest?: Rest; readonly beforeHandler?: true };
  /** A step's end: exactly one of `value` and `error`, or neither for a step that returned nothing. */
  record_step: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    readonly value: string | null;
    readonly error: string | null;
    /** When its function was first called (epoch ms). A value from an earlier failure stays. */
    readonly begunAt?: number;
    /**
     * For the return value of the tool's `prepare` in the task. The handler starts after it and has journalled nothing yet, so its lost
     * attempt is treated like any other.
     */
    readonly beforeHandler?: true;
    /** It is an artifact, whose pieces are stored. One with an error keeps none of them. */
    readonly artifact?: true;
  };
  /**
   * Stores a piece of an artifact; the first one (`seq` 0) begins it, and removes what an earlier attempt has stored of it. Its end is
   * recorded by `record_step`. Refused as `duplicate` once it has ended.
   */
  write_piece: {
    readonly id: string;
    readonly token: string;
    /** The key of the artifact in the journal. */
    readonly key: string;
    readonly seq: number;
    /** Base64. */
    readonly body: string;
  };
  /** A step has failed for the `tries`-th time, and is retried at `until` (epoch ms); or, without an error, looks again at what is not ready yet. */
  retry_step: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    /** As in `record_step`; `value` is what the next look needs to know. */
    readonly error: string | null;
    readonly value?: string;
    readonly begunAt?: number;
    readonly tries: number;
    readonly until: number;
    /** Set if the handler then rests. */
    readonly rest?: Rest;
  };
  /**
   * A step has begun something that lives on without its attempt, such as a process: `value` is what a later attempt needs to find it, as raw
   * JSON. With `goesOn`, that attempt has found it, so that the crash of the last one has cost nothing.
   */
  begin_step: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    readonly value: string;
    /** As in `record_step`. */
    readonly begunAt?: number;
    readonly goesOn?: true;
  };
  open_input: {
    readonly id: string;
    readonly token: string;
    readonly input: InputRequest;
    readonly requestHash: string;
    /** When the attempt stops waiting; later answers are too late. */
    readonly deadlineAt: number | null;
    /** Set if the handler then rests. */
    readonly rest?: Rest;
  };
  /** Times out an open input, or a wait for an event; refused as `state` once it has ended. */
  close_wait: { readonly id: string; readonly token: string; readonly key: string; readonly error: string };
  /** A sleep until `until`, which later attempts find in the journal. */
  sleep: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    readonly until: number;
    /** Set if the handler then rests. */
    readonly rest?: Rest;
  };
  /** Ends a sleep, before its handler continues. Refused as `state` if there is no such open sleep. */
  end_sleep: { readonly id: string; readonly token: string; readonly key: string };
  /** Creates a task for a tool that the handler calls, queued for any owner. The call ends with it. It counts for no quota. Refused as `taken`. */
  call_tool: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    readonly requestHash: string;
    readonly child: NewTask;
    readonly request: TaskRequest;
    /** As in `create`: of a failed call that this one takes up. */
    readonly journal?: readonly JournalEntry[];
    /** How long the handler of that task may continue once this one has ended or is to be cancelled (ms). */
    readonly cancelGraceMs: number;
    /** Set if the handler then rests. */
    readonly rest?: Rest;
  };
  /** Waits for the first event of this name that no other wait has taken; an event that came before ends it at once. */
  wait_event: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    readonly name: string;
    readonly requestHash: string;
    /** When the attempt stops waiting; later events are kept for another wait. */
    readonly deadlineAt: number | null;
    /** Set if the handler then rests. */
    readonly rest?: Rest;
  };
  /**
   * Ends the oldest wait for an event of this name, or keeps the event for a later wait. Changes nothing if an event came before under the
   * same `dedupeId`. Refused as `quota` if `limit` events are kept already. With `key` it ends the wait under that key, whatever else waits,
   * and is never kept: refused as `state` if that wait is not open.
   */
  send_event: {
    readonly id: string;
    readonly name: string;
    /** Raw JSON. */
    readonly value: string;
    readonly dedupeId: string | null;
    readonly limit: number;
    readonly key?: string;
    /** The latest time that ends a wait (epoch ms); left out: now. It is earlier where the clock was set ahead. */
    readonly past?: number;
  };
  /** Accepts the answers to open inputs and ignores all others. `past`: as for events. */
  answer_inputs: { readonly id: string; readonly answers: readonly InputAnswer[]; readonly past?: number };
  update: { readonly id: string; readonly token: string; readonly changes: TaskChanges };
  /**
   * Appends to the task's log and output, and drops log lines to make room. The attempt numbers the lines, so appending them twice changes
   * nothing.
   */
  append: {
    readonly id: string;
    readonly token: string;
    readonly lines: readonly TaskLine[];
    /** Numbers of log lines to drop. */
    readonly forget: readonly number[];
  };
  /** Replaces the status text by that of the end; without one, the task has none from then on. The same for `fail` and `expire`. */
  settle: Ending & {
    readonly id: string;
    readonly token: string;
    /** The stack of what the handler threw. */
    readonly stack?: string;
  };
  /** With `orphaned` it is refused as `state` while a living owner has a handler for the task. */
  fail: Ending & {
    readonly id: string;
    readonly orphaned?: true;
  };
  /** Refused as `not_due` if the task's end of life is after `now`, or if it is to be cancelled. Visible until `visibleUntil`. */
  expire: Ending & {
    readonly id: string;
    readonly visibleUntil: number;
  };
  /** The handler has until `cancelBy` (epoch ms), if given. Changes nothing if a cancel was requested before. */
  request_cancel: { readonly id: string; readonly cancelBy?: number };
  /**
   * A caller without task support, at this owner, now waits for the task, which is then not cancelled because earlier callers left. Refused
   * as `awaited` if callers of another living owner wait and the call must be the only one (`alone`), or the result is on its way to them.
   * Refused as `state` if the task does not have the idempotency key `key`.
   */
  join: { readonly id: string; readonly alone: boolean; readonly key?: string };
  /**
   * No caller of this owner waits any more, or some still do (`stays`). `promised`: a caller was told how to come back for the result, or
   * has come back, which also takes back a `cancelBy`. `cancelBy` (epoch ms): the task is cancelled then, unless its result is wanted.
   */
  leave: {
    readonly id: string;
    readonly stays: boolean;
    readonly promised: boolean;
    readonly cancelBy: number | null;
  };
  /**
   * Ends a task as cancelled; also counts as the request if there was none. `statusMessage` says who cancelled it, if not its caller. With `scheduled` it is refused as `not_due` before `cancelBy`;
   * with `unlessWanted` as `awaited` while a caller of another owner waits, or one was told how to come back.
   */
  cancel: {
    readonly id: string;
    readonly statusMessage?: string;
    readonly scheduled?: true;
    readonly unlessWanted?: true;
  };
  /**
   * Returns the running tasks of a lost owner to the queue, where any owner may claim them; those whose handlers rest are parked. Refused
   * as `state` while that owner lives. From then on, that owner can write nothing. Works in pages, so that no transaction grows with the
   * store: up to `limit` tasks with ids above `after`. Against which of the tasks the loss counts, `suspicion.ts` says. Expired tasks stay as they are, since they can only `expire`; so do unreadable ones,
   * which the result names. After the last page the store forgets the owner, unless it runs tasks that are unreadable or to be cancelled.
   */
  reclaim: {
    readonly owner: string;
    readonly after: string;
    readonly limit: number;
    readonly backoff: CrashBackoff;
  };
  /**
   * Removes a finished task's idempotency key, if it has one, so that the same call is a new one from now on. Refused as `state` before its
   * end. No caller waits for it any more. With `deleteBy` (epoch ms) it is deleted by then, unless a caller was told how to come back for
   * it. Nothing else about the task changes but its version.
   */
  release_key: { readonly id: string; readonly deleteBy?: number };
  /**
   * The result of a task, or that it was cancelled, goes to its requestor, by the method or polling tool `via`. Refused as `state` before its end,
   * and if this is not the first time. Nothing else about the task changes but its version, and nobody is notified.
   */
  retrieve: { readonly id: string; readonly via: string };
  /** The task may run, and is kept, until `until` (epoch ms; `null`: no end). Refused as `state` while it runs under a lost owner. */
  extend: { readonly id: string; readonly until: number | null };
  /** Deletes a finished task, and everything that belongs to it, early. Refused as `state` before its end. */
  delete: { readonly id: string };
  /** Stores `value` under `name`, unless a value exists already or it is null. Returns the stored value; null if there is none. */
  keep_secret: { readonly name: string; readonly value: string | null };
  /** If `before` is stored under `name`, stores `value` in its place, or nothing for null. Returns whether it was. */
  replace_secret: { readonly name: string; readonly before: string; readonly value: string | null };
  /**
   * Gives a task another idempotency key, if it has `before`; otherwise refused as `state`. Rejects with `store_refused` if another task of its
   * principal has the key.
   */
  rekey: { readonly id: string; readonly before: string; readonly key: string };
  /** Deletes up to `limit` finished tasks whose ttl is over, oldest first. */
  delete_expired: { readonly limit: number };
}
/** The names of the commands that a store takes. */
export type TaskCommandName = keyof TaskCommands;
/** A change of a task that a store makes as one transaction. `now` is epoch milliseconds. */
export type TaskCommand<N extends TaskCommandName = TaskCommandName> = {
  [K in N]: {
    readonly type: K;
    readonly now: number;
    /** Recorded with the change, if an operator makes it. */
    readonly by?: ActionBy;
    /** The task of a bulk job that the change is the action on: the same write says so there. */
    readonly bulk?: BulkPlace;
  } & TaskCommands[K];
}[N];

/** Why a command changed nothing. None of these is a fault: callers decide what each means. */
export type Refusal =
  /** no such task */
  | "unknown"
  /** the task is finished; the first settlement won */
  | "finished"
  /** the token is not the one that holds the task */
  | "fenced"
  /** the state does not allow it, for a reason other than these */
  | "state"
  /** an operator has run the task again before */
  | "retried"
  /** the journal already contains the key */
  | "duplicate"
  /** the limit on the number of tasks is reached */
  | "quota"
  /** the idempotency key belongs to another call */
  | "conflict"
  /** another task has the id, or the wire id in this generation and scope */
  | "taken"
  /** callers at another owner wait for the task, or may come back for it */
  | "awaited"
  /** the time of the event has not come yet */
  | "not_due";

/** A command that does not apply to the task as it is. Nothing was written. */
export type Refused = { readonly ok: false; readonly reason: Refusal };
type Changed = { readonly ok: true; readonly task: TaskRecord };

/** A task whose record cannot be read: damaged, or not written by a store. */
export interface UnreadableTask {
  readonly id: string;
  /** What is wrong with it, as a sentence. */
  readonly problem: string;
}

interface SpecialResults extends BulkResults<Refused>, StartResults {
  /** `created: false`: the same call was made before under its idempotency key, and `task` is that call's task. */
  create: (Changed & { readonly created: boolean }) | Refused;
  /** `accepted`: the keys of the accepted answers; empty if no question was open. */
  answer_inputs: (Changed & { readonly accepted: readonly string[] }) | Refused;
  /** `isNew`: no event with its `dedupeId` came before. `ended`: the key of the wait that it ended. */
  send_event: (Changed & { readonly isNew: boolean; readonly ended: string | null }) | Refused;
  /** `released`: its handler had started, and no attempt that could react to the cancel held it. */
  cancel: (Changed & { readonly released: boolean }) | Refused;
  claim: {
    readonly ok: true;
    /** Now running, each under its token. */
    readonly tasks: readonly TaskRecord[];
    readonly unreadable: readonly UnreadableTask[];
    /** Pass these to the next claim. */
    readonly turns: Turns;
    /** True if tasks with a handler here may wait because their handler's limit is reached. */
    readonly heldBack: boolean;
  };
  wake: { readonly ok: true; readonly woken: number; readonly unreadable: readonly UnreadableTask[] };
  reclaim:
    | {
        readonly ok: true;
        readonly reclaimed: number;
        readonly unreadable: readonly UnreadableTask[];
        /** Where the next page begins; null on the last page. */
        readonly next: string | null;
      }
    | Refused;
  delete_expired: { readonly ok: true; readonly deleted: readonly string[] };
  release_key: { readonly ok: true } | Refused;
  delete: { readonly ok: true } | Refused;
  /** As they are after they were taken. */
  claim_deliveries: { readonly ok: true; readonly deliveries: readonly StoredDelivery[] };
  end_delivery: { readonly ok: true };
  retry_delivery: { readonly ok: true };
  resend_deliveries: { readonly ok: true; readonly resent: number };
  repeat_delivery: { readonly ok: true; readonly repeated: boolean };
  trim_deliveries: { readonly ok: true; readonly dropped: number };
  keep_secret: { readonly ok: true; readonly value: string | null };
  replace_secret: { readonly ok: true; readonly replaced: boolean };
}

/** What a store answers to a command: the changed task, or why it refuses. */
export type CommandResult<N extends TaskCommandName = TaskCommandName> = {
  [K in N]: K extends keyof SpecialResults ? SpecialResults[K] : Changed | Refused;
}[N];
