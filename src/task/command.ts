import type { ActionBy } from "./action.ts";
import type { CrashBackoff } from "./crash-backoff.ts";
import type { DeliveryCommands } from "./delivery-command.ts";
import type { InputAnswer, InputRequest } from "./input.ts";
import type { JournalEntry } from "./journal.ts";
import type { Outcome } from "./outcome.ts";
import type { ClaimingHandler } from "./owner.ts";
import type { Quota } from "./quota.ts";
import type { TaskRequest } from "./record.ts";
import type { Turns } from "./turns.ts";
import type { NewTask, TaskChanges } from "./new-task.ts";
import type { TaskLine } from "./task-line.ts";
import type { Rest } from "./waiting.ts";

/**
 * Every change that a store makes, as plain data: one command is one atomic change, and its name is the event of
 * the transition table that allows it. `now` is the caller's clock; stores own none.
 */
export interface TaskCommands extends DeliveryCommands {
  /** Inserts a task; with a `token` it is already running under it, else queued, for the owner of the store or for any. */
  create: {
    readonly task: NewTask;
    readonly request: TaskRequest;
    readonly token: string | null;
    /** The version of the tool, where it is already running. */
    readonly version?: number;
    /** A queued task may be claimed by every owner, not just by this one as long as it lives. */
    readonly forAnyOwner?: true;
    /** A caller of this owner waits for the task that knows no tasks. */
    readonly awaited?: true;
    /** Such a caller may come back for the result by itself. */
    readonly promised?: true;
    /** Refused as `quota` where the task does not fit; a call that is repeated under its idempotency key does. */
    readonly quota?: Quota;
    /** What its journal has from the start: ended entries of a task that ran before. */
    readonly journal?: readonly JournalEntry[];
    /** The hash of the same call in the form that hashes of this store had before, which is not stored. */
    readonly formerHash?: string;
  };
  /** `limited`: the task counts for the limit of its handler as long as it runs. `version`: that of its handler's tool. */
  start: { readonly id: string; readonly token: string; readonly limited?: true; readonly version?: number };
  /**
   * Starts queued tasks that stand in a lane, one under each token as far as there are any: by priorities of `handlers`, and by
   * turns of principals and lanes (`store/fair-order.ts`). Those that another living owner with their handler is to run are not among them, nor are
   * those that none of `handlers` runs, nor those of which as many run as may.
   */
  claim: {
    readonly handlers: readonly ClaimingHandler[];
    readonly tokens: readonly string[];
    /** Those that the last claim came to; left out for a first one. */
    readonly turns?: Turns;
  };
  /**
   * Gives the task back to the queue, where it pauses until `until` (epoch ms) if that is given; one whose handler rests is parked there,
   * until something comes for it.
   */
  release: { readonly id: string; readonly token: string; readonly until?: number };
  /**
   * Gives back a task whose handler threw: it runs again from `until` (epoch ms) on. What failed in its journal is removed from there, steps and
   * calls, and so are steps that wait to be tried again: all of these run again.
   */
  retry: {
    readonly id: string;
    readonly token: string;
    readonly until: number;
    readonly statusMessage: string;
    /** Where the handler threw. */
    readonly stack?: string;
  };
  /** The same of a process that goes on, which stays the one that runs the task. */
  park: { readonly id: string; readonly token: string };
  /** Up to `limit` queued tasks that wait can be claimed from now on, since the time has come until which they waited. */
  wake: { readonly limit: number };
  /** Before the first journalled call of an attempt runs, when its handler comes to rest, and before it works again. */
  mark: { readonly id: string; readonly token: string; readonly rest?: Rest };
  /** A step's end: exactly one of `value` and `error`, or neither for a step that returned nothing. */
  record_step: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    readonly value: string | null;
    readonly error: string | null;
    /** When its function was first called (epoch ms); what an earlier failure of it has said stays. */
    readonly begunAt?: number;
    /**
     * For what the tool's `prepare` returned in the task: the handler itself begins after it and has journalled nothing
     * yet, so that a lost attempt of it is judged like any other.
     */
    readonly beforeHandler?: true;
  };
  /** A step has failed, for the `tries`-th time, and is tried again at `until` (epoch ms). */
  retry_step: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    /** As of `record_step`. */
    readonly error: string;
    readonly tries: number;
    readonly until: number;
    /** As of `record_step`. */
    readonly begunAt?: number;
    /** Where the handler rests with it. */
    readonly rest?: Rest;
  };
  open_input: {
    readonly id: string;
    readonly token: string;
    readonly input: InputRequest;
    readonly requestHash: string;
    /** When the attempt gives the question up; answers that come then are too late. */
    readonly deadlineAt: number | null;
    /** Where the handler rests with it. */
    readonly rest?: Rest;
  };
  /** Gives up an open input, or a wait for an event; refused as `state` once it has ended. */
  close_wait: { readonly id: string; readonly token: string; readonly key: string; readonly error: string };
  /** A sleep that is to end at `until`, which later attempts find in the journal. */
  sleep: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    readonly until: number;
    /** Where the handler rests with it. */
    readonly rest?: Rest;
  };
  /** Ends a sleep, before its handler goes on. Refused as `state` where no such sleep lasts. */
  end_sleep: { readonly id: string; readonly token: string; readonly key: string };
  /**
   * Makes a task of a tool that the handler calls, queued for any owner, whose end will be that of the call. It counts for no quota.
   * Refused as `taken` where its id is.
   */
  call_tool: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    readonly requestHash: string;
    readonly child: NewTask;
    readonly request: TaskRequest;
    /** How long the handler of that task may go on when this one has ended or is to be cancelled (ms). */
    readonly cancelGraceMs: number;
    /** Where the handler rests with it. */
    readonly rest?: Rest;
  };
  /** Waits for the first event of the name that no other wait has taken; one that came before ends it at once. */
  wait_event: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    readonly name: string;
    readonly requestHash: string;
    /** When the attempt gives up; events that come then are kept for another wait. */
    readonly deadlineAt: number | null;
    /** Where the handler rests with it. */
    readonly rest?: Rest;
  };
  /**
   * Ends the wait for an event of the name that began first, or keeps the event for one that is still to begin. Changes nothing where an
   * event came before under the same `dedupeId`. Refused as `quota` where as many as `limit` are kept.
   */
  send_event: {
    readonly id: string;
    readonly name: string;
    /** Raw JSON. */
    readonly value: string;
    readonly dedupeId: string | null;
    readonly limit: number;
  };
  /** Takes the answers to open inputs and ignores all others. */
  answer_inputs: { readonly id: string; readonly answers: readonly InputAnswer[] };
  update: { readonly id: string; readonly token: string; readonly changes: TaskChanges };
  /**
   * Appends to the task's log and output, and forgets lines of its log to make room. The attempt numbers the lines, so that to append them once
   * more changes nothing.
   */
  append: {
    readonly id: string;
    readonly token: string;
    readonly lines: readonly TaskLine[];
    /** Numbers of lines of the log. */
    readonly forget: readonly number[];
  };
  settle: {
    readonly id: string;
    readonly token: string;
    readonly outcome: Outcome;
    /** Replaces the status text where it is not undefined. */
    readonly statusMessage?: string;
    /** Where the handler threw. */
    readonly stack?: string;
  };
  /** With `orphaned` it is refused as `state` while a living owner has a handler for the task. */
  fail: {
    readonly id: string;
    readonly outcome: Outcome;
    readonly statusMessage: string;
    readonly orphaned?: true;
  };
  /** Refused as `not_due` while the task's end of life lies after `now`, and where it is to be cancelled. Visible until `visibleUntil`. */
  expire: {
    readonly id: string;
    readonly outcome: Outcome;
    readonly statusMessage: string;
    readonly visibleUntil: number;
  };
  /** The handler has until `cancelBy` (epoch ms), where that is given. Changes nothing where it was requested before. */
  request_cancel: { readonly id: string; readonly cancelBy?: number };
  /**
   * A caller of this owner that knows no tasks waits for the task, which is not cancelled for those who left. Refused as `awaited` where callers of
   * another living owner wait and the call is to be the only one (`alone`), or the result is on its way to them; as `state` where the
   * task has not, or not any more, the idempotency key `key`.
   */
  join: { readonly id: string; readonly alone: boolean; readonly key?: string };
  /**
   * No caller of this owner waits any more, or some still do (`stays`). `promised`: one was told how to come back for the result.
   * `cancelBy` (epoch ms): the task is cancelled then, unless somebody wants the result.
   */
  leave: {
    readonly id: string;
    readonly stays: boolean;
    readonly promised: boolean;
    readonly cancelBy: number | null;
  };
  /**
   * Ends a task as cancelled; counts as the request too where none came before. With `scheduled` it is refused as `not_due`
   * unless `cancelBy` has come; with `unlessWanted` as `awaited` while a caller of another owner waits, or one was told how to come back.
   */
  cancel: {
    readonly id: string;
    readonly statusMessage?: string;
    readonly scheduled?: true;
    readonly unlessWanted?: true;
  };
  /**
   * Gives the running tasks of an owner that is gone back to the queue, where any may claim them; those whose handlers rest are
   * parked there. Refused as `state` while it lives. From then on it can write nothing. In pages, so that no transaction grows with the store: up to `limit` tasks with
   * ids above `after`. A task that has expired stays as it is, since it can only `expire`; so does one whose record cannot be
   * read, which is named in the result. After the last page the store forgets the owner, unless it runs tasks that cannot be
   * read, or that are to be cancelled.
   */
  reclaim: {
    readonly owner: string;
    readonly after: string;
    readonly limit: number;
    readonly backoff: CrashBackoff;
  };
  /**
   * A finished task gives up its idempotency key, if it has one: the same call is a new one from now on. Refused as `state`
   * before its end. Nobody waits for it any more. With `deleteBy` (epoch ms) it is deleted then, if not earlier, unless somebody was told
   * how to come back for it. Nothing else of the task changes.
   */
  release_key: { readonly id: string; readonly deleteBy?: number };
  /** The task is kept, and may run, until `until` (epoch ms); `null`: without end. Refused as `state` while it runs under an owner that is gone. */
  extend: { readonly id: string; readonly until: number | null };
  /** Nobody starts tasks of the tool from now on; those that run go on. Changes nothing where it is paused already. */
  pause_tool: { readonly tool: string; readonly actor: string };
  resume_tool: { readonly tool: string };
  /** Deletes a finished task with all that belongs to it, before its time. Refused as `state` before its end. */
  delete: { readonly id: string };
  /** Keeps `value` under `name`, unless there is one already, or it is null; answers with the one that is kept, null where there is none. */
  keep_secret: { readonly name: string; readonly value: string | null };
  /** Deletes up to `limit` finished tasks whose time is over, oldest first. */
  delete_expired: { readonly limit: number };
}

export type TaskCommandName = keyof TaskCommands;

export type TaskCommand<N extends TaskCommandName = TaskCommandName> = {
  [K in N]: {
    readonly type: K;
    readonly now: number;
    /** Where somebody gives it by hand: what is recorded with the change. */
    readonly by?: ActionBy;
  } & TaskCommands[K];
}[N];
