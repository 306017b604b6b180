import type { UnreadableTask, TaskCommand } from "../task/command.ts";
import type { BulkJob } from "../task/bulk.ts";
import type { StoredDelivery } from "../task/delivery.ts";
import type { JournalEntry } from "../task/journal.ts";
import { type Usage, noTurns } from "../task/queue.ts";
import type { TaskRecord } from "../task/record.ts";
import type { DeliveryQuery, ExcessQuery } from "./outbox.ts";
import type { FairlyTaken, FairQuery } from "./fair-order.ts";
import { concernsChildren, concernsParents, type Relatives } from "./relatives.ts";

/** What a command needs to know before it is decided, as plain data. A store reads it, and locks it if others could write meanwhile. */
export interface FactsQuery {
  /**
   * A task, with these entries of its journal. `served`: whether there is a handler for it; `callers`: who waits for it; `holder`: whether
   * the owner of its attempt lives; `parents` and `children`: the tasks above and below it.
   */
  readonly task?: {
    readonly id: string;
    readonly keys: readonly string[];
    readonly served: boolean;
    readonly callers: boolean;
    readonly holder: boolean;
    readonly parents: boolean;
    readonly children: boolean;
    /** The ended tasks below it, which go when it is deleted. */
    readonly below?: true;
    readonly event?: EventQuery;
  };
  /** The task with an idempotency key. */
  readonly sameKey?: { readonly principal: string | null; readonly key: string };
  /** The number of tasks, in total and of a principal. */
  readonly usage?: { readonly principal: string | null };
  /** Queued tasks in a lane that this owner may run. */
  readonly runnable?: FairQuery;
  /** Waiting queued tasks whose time has come at `now`. */
  readonly toWake?: ToWakeQuery;
  readonly running?: RunningQuery;
  /** Finished tasks that may be deleted at `now`. */
  readonly deletable?: { readonly now: number; readonly limit: number };
  readonly secret?: string;
  readonly bulkJob?: string;
  readonly deliveries?: DeliveryQuery;
  readonly excess?: ExcessQuery;
}

export interface ToWakeQuery {
  readonly now: number;
  readonly limit: number;
}

/** Which facts about events of a name are needed. */
export interface EventQuery {
  readonly name: string;
  /** For a new event; left out: for the first kept event. */
  readonly coming?: { readonly dedupeId: string | null; readonly past: number };
}

/** An event that is kept for a later wait. */
export interface KeptEvent {
  /** Its position among all events. */
  readonly seq: number;
  /** Raw JSON. */
  readonly value: string;
}

export interface EventFacts {
  /** The first kept event. */
  readonly kept?: KeptEvent | undefined;
  /** The oldest open wait. */
  readonly wait?: JournalEntry | undefined;
  /** Whether an event with this `dedupeId` came before. */
  readonly isKnown?: boolean;
  /** The number of kept events of any name. */
  readonly count?: number;
}

/** Running tasks of an owner with ids above `after` that have not expired at `now`, in order of id. */
export interface RunningQuery {
  readonly owner: string;
  readonly after: string;
  readonly limit: number;
  readonly now: number;
}

/** Queued tasks, earliest `runAfter` first, at most as many as requested. Unreadable ones do not count. */
export interface QueuedTasks {
  readonly tasks: readonly TaskRecord[];
  readonly unreadable: readonly UnreadableTask[];
}

export interface RunnableTasks extends FairlyTaken<TaskRecord> {
  readonly unreadable: readonly UnreadableTask[];
}

export interface RunningTasks {
  /** True while the owner lives: then nothing else is read. */
  readonly alive: boolean;
  readonly tasks: readonly TaskRecord[];
  readonly unreadable: readonly UnreadableTask[];
  /** Where the next page begins; null after the last one. */
  readonly next: string | null;
}

/** What is asked of more than one task, or of none: only commands that are decided alone ask for one of these. */
export interface OtherFacts {
  readonly runnable?: RunnableTasks;
  readonly toWake?: QueuedTasks;
  readonly running?: RunningTasks;
  readonly deletable?: readonly string[];
  /** The ended tasks below those that are to be deleted. */
  readonly below?: readonly string[];
  readonly secret?: string | undefined;
  readonly bulkJob?: BulkJob | undefined;
  readonly deliveries?: readonly StoredDelivery[];
  /** The numbers of deliveries that are too many or too old. */
  readonly excess?: readonly number[];
}

/** The answers to a query. What it did not ask for is left out or empty. */
export interface Facts extends OtherFacts {
  /** The owner that opened the store. */
  readonly owner: string;
  readonly task?: TaskRecord | undefined;
  readonly entries: ReadonlyMap<string, JournalEntry>;
  /** Whether a living owner has a handler for the task. */
  readonly served?: boolean;
  /** Whether the task runs, and the owner of its attempt lives. */
  readonly held?: boolean;
  readonly relatives?: Relatives | undefined;
  readonly event?: EventFacts | undefined;
  /** Living owners in the task's `awaitedBy`, without this one. */
  readonly awaitedBy?: readonly string[];
  readonly sameKey?: TaskRecord | undefined;
  readonly usage?: { readonly total: Usage; readonly ofPrincipal: Usage | null };
}

/** The facts needed to decide a command. */
export function factsFor(command: TaskCommand): FactsQuery {
  switch (command.type) {
    case "create": {
      if (command.retryOf !== undefined) return { task: taskAlone(command.retryOf.id) };
      const { principal, idempotencyKey: key } = command.task;
      return {
        ...(key === null ? {} : { sameKey: { principal, key } }),
        ...(command.quota === undefined ? {} : { usage: { principal } }),
      };
    }
    case "claim":
      return {
        runnable: {
          handlers: command.handlers,
          turns: command.turns ?? noTurns,
          limit: command.tokens.length,
        },
      };
    case "wake":
      return { toWake: { now: command.until ?? command.now, limit: command.limit } };
    case "reclaim": {
      const { owner, after, limit, now } = command;
      return { running: { owner, after, limit, now } };
    }
    case "delete_expired":
      return { deletable: { now: command.now, limit: command.limit } };
    case "keep_secret":
    case "replace_secret":
      return { secret: command.name };
    case "pause_tool":
    case "resume_tool":
    case "drain_owner":
    case "mark_cause":
    case "record_action":
    case "refuse_bulk_task":
      return {};
    case "add_bulk_tasks":
      return { bulkJob: command.job.id };
    case "start_bulk":
    case "hold_bulk":
    case "end_bulk":
    case "delete_bulk":
      return { bulkJob: command.id };
    case "claim_deliveries":
      return { deliveries: { hook: command.hook, now: command.now, limit: command.limit } };
    case "resend_deliveries":
      if (command.seqs !== undefined) return {};
      return {
        deliveries: {
          hook: command.hook,
          now: command.waiting === true ? command.now : null,
          limit: command.limit,
          ...(command.waiting && { later: true }),
        },
      };
    case "trim_deliveries": {
      const { most, before, limit } = command;
      return { excess: { most, before, limit } };
    }
    case "end_delivery":
    case "retry_delivery":
      return {};
    default: {
      const served = (command.type === "fail" && command.orphaned === true) || command.type === "orphan";
      const callers = asksForCallers(command);
      const holder = command.type === "cancel" || command.type === "extend";
      const parents = concernsParents(command.type);
      const children = concernsChildren(command.type);
      const keys = journalKeysOf(command);
      return {
        task: {
          id: command.id,
          keys,
          served,
          callers,
          holder,
          parents,
          children,
          ...((command.type === "delete" || command.type === "next_round") && { below: true }),
          ...eventOf(command),
        },
      };
    }
  }
}

/** The task without anything that belongs to it. */
function taskAlone(id: string): NonNullable<FactsQuery["task"]> {
  return { id, keys: [], served: false, callers: false, holder: false, parents: false, children: false };
}

function eventOf(command: TaskCommand): { event?: EventQuery } {
  if (command.type === "wait_event") return { event: { name: command.name } };
  if (command.type !== "send_event") return {};
  const { name, dedupeId, now, past = now } = command;
  return { event: { name, coming: { dedupeId, past } } };
}

function asksForCallers(command: TaskCommand): boolean {
  const { type } = command;
  return type === "join" || type === "leave" || (type === "cancel" && command.unlessWanted === true);
}

function journalKeysOf(command: TaskCommand): readonly string[] {
  switch (command.type) {
    case "record_step":
    case "write_piece":
    case "retry_step":
    case "begin_step":
    case "close_wait":
    case "sleep":
    case "end_sleep":
    case "call_tool":
    case "wait_event":
      return [command.key];
    case "next_round":
      return [command.key, ...command.open];
    case "open_input":
      return [command.input.key];
    case "send_event":
      return command.key === undefined ? [] : [command.key];
    case "answer_inputs":
      return command.answers.map(({ key }) => key);
    default:
      return [];
  }
}
