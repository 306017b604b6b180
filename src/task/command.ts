import type { CrashBackoff } from "./crash-backoff.ts";
import type { Expiry } from "./expiry.ts";
import type { InputAnswer, InputRequest } from "./input.ts";
import type { Outcome } from "./outcome.ts";
import type { ClaimingHandler } from "./owner.ts";
import type { Quota } from "./quota.ts";
import type { Progress, TaskRecord, TaskRequest } from "./record.ts";
import type { Turns } from "./turns.ts";
import type { Rest } from "./waiting.ts";

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
>;

/** What the handler can change while it runs; a member that is left out stays as it is. */
export interface TaskChanges {
  readonly statusMessage?: string | null;
  readonly pollIntervalMs?: number;
  readonly expiry?: Expiry;
  /** A value below the task's own is passed over, with its total and message; an equal one replaces these two. */
  readonly progress?: Progress;
  /** Whether the task waits for its client, for questions that are not in the journal. */
  readonly waiting?: boolean;
}

/**
 * Every change that a store makes, as plain data: one command is one atomic change, and its name is the event of
 * the transition table that allows it. `now` is the caller's clock; stores own none.
 */
export interface TaskCommands {
  /** Inserts a task; with a `token` it is already running under it, else queued, for the owner of the store or for any. */
  create: {
    readonly task: NewTask;
    readonly request: TaskRequest;
    readonly token: string | null;
    /** A queued task may be claimed by every owner, not just by this one as long as it lives. */
    readonly forAnyOwner?: true;
    /** A caller of this owner waits for the task that knows no tasks. */
    readonly awaited?: true;
    /** Such a caller may come back for the result by itself. */
    readonly promised?: true;
    /** Refused as `quota` where the task does not fit; a call that is repeated under its idempotency key does. */
    readonly quota?: Quota;
  };
  /** `limited`: the task counts for the limit of its handler as long as it runs. */
  start: { readonly id: string; readonly token: string; readonly limited?: true };
  /**
   * Starts queued tasks that stand in a lane, one under each token as far as there are any: by priorities of `handlers`, and by
   * turns of principals and lanes (`store/fair-order.ts`). Those that another living owner is to run are not among them, nor are
   * those that none of `handlers` runs, nor those of which as many run as may.
   */
  claim: {
    readonly handlers: readonly ClaimingHandler[];
    readonly tokens: readonly string[];
    /** Those that the last claim came to; left out for a first one. */
    readonly turns?: Turns;
  };
  /** Gives the task back to the queue; one whose handler rests is parked there, until something comes for it. */
  release: { readonly id: string; readonly token: string };
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
    /**
     * For what the tool's `prepare` returned in the task: the handler itself begins after it and has journalled nothing
     * yet, so that a lost attempt of it is judged like any other.
     */
    readonly beforeHandler?: true;
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
  /** Gives up an open input; refused as `state` once it was answered. */
  close_input: { readonly id: string; readonly token: string; readonly key: string; readonly error: string };
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
  /** Takes the answers to open inputs and ignores all others. */
  answer_inputs: { readonly id: string; readonly answers: readonly InputAnswer[] };
  update: { readonly id: string; readonly token: string; readonly changes: TaskChanges };
  settle: {
    readonly id: string;
    readonly token: string;
    readonly outcome: Outcome;
    /** Replaces the status text where it is not undefined. */
    readonly statusMessage?: string;
  };
  /** With `orphaned` it is refused as `state` while a living owner has a handler for the task. */
  fail: {
    readonly id: string;
    readonly outcome: Outcome;
    readonly statusMessage: string;
    readonly orphaned?: true;
  };
  /**
   * Refused as `not_due` while the task's end of life lies after `now`, and where it is to be cancelled. Visible until
   * `visibleUntil`.
   */
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
  /** Deletes a finished task with all that belongs to it, before its time. Refused as `state` before its end. */
  delete: { readonly id: string };
  /** Keeps `value` under `name`, unless there is one already; answers with the one that is kept. */
  keep_secret: { readonly name: string; readonly value: string };
  /** Deletes up to `limit` finished tasks whose time is over, oldest first. */
  delete_expired: { readonly limit: number };
}

export type TaskCommandName = keyof TaskCommands;

export type TaskCommand<N extends TaskCommandName = TaskCommandName> = {
  [K in N]: { readonly type: K; readonly now: number } & TaskCommands[K];
}[N];

/** Why a command changed nothing. None of these is a fault: callers decide what each means to them. */
export type Refusal =
  /** no such task */
  | "unknown"
  /** the task is finished; the first settlement won */
  | "finished"
  /** the token is not the one that holds the task */
  | "fenced"
  /** the state allows it not, for another reason than these */
  | "state"
  /** the journal has the key already */
  | "duplicate"
  /** there are as many tasks as there may be */
  | "quota"
  /** the idempotency key belongs to another call */
  | "conflict"
  /** another task has the id, or the wire id in this generation and scope */
  | "taken"
  /** callers of another owner wait for the task, or may come back for it */
  | "awaited"
  /** the time of the event is still to come */
  | "not_due";

export type Refused = { readonly ok: false; readonly reason: Refusal };
type Changed = { readonly ok: true; readonly task: TaskRecord };

/** A task whose record cannot be read: damaged, or written by something else. */
export interface UnreadableTask {
  readonly id: string;
  /** What is wrong with it, as a sentence. */
  readonly problem: string;
}

interface SpecialResults {
  /** `created: false`: the same call was made before under its idempotency key; `task` is that one. */
  create: (Changed & { readonly created: boolean }) | Refused;
  /** `accepted`: the keys whose answers were taken; empty when none was open. */
  answer_inputs: (Changed & { readonly accepted: readonly string[] }) | Refused;
  /** `unheld`: its handler had run, and no attempt held it that would hear of the cancel. */
  cancel: (Changed & { readonly unheld: boolean }) | Refused;
  claim: {
    readonly ok: true;
    /** Running, each under its token. */
    readonly tasks: readonly TaskRecord[];
    readonly unreadable: readonly UnreadableTask[];
    /** For the next claim. */
    readonly turns: Turns;
    /** True where tasks may wait that have a handler here, of which as many run as may. */
    readonly heldBack: boolean;
  };
  wake: { readonly ok: true; readonly woken: number; readonly unreadable: readonly UnreadableTask[] };
  reclaim:
    | {
        readonly ok: true;
        readonly reclaimed: number;
        readonly unreadable: readonly UnreadableTask[];
        /** Where the next page begins; null where this was the last one. */
        readonly next: string | null;
      }
    | Refused;
  delete_expired: { readonly ok: true; readonly deleted: readonly string[] };
  release_key: { readonly ok: true } | Refused;
  delete: { readonly ok: true } | Refused;
  keep_secret: { readonly ok: true; readonly value: string };
}

export type CommandResult<N extends TaskCommandName = TaskCommandName> = {
  [K in N]: K extends keyof SpecialResults ? SpecialResults[K] : Changed | Refused;
}[N];
