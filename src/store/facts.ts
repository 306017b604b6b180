import type { TaskCommand, UnreadableTask } from "../task/command.ts";
import type { JournalEntry } from "../task/journal.ts";
import type { Usage } from "../task/quota.ts";
import type { TaskRecord } from "../task/record.ts";
import { noTurns } from "../task/turns.ts";
import type { FairlyTaken, FairQuery } from "./fair-order.ts";

/** What a command has to know before it is decided, as plain data. A store reads it, and locks it where others could write meanwhile. */
export interface FactsQuery {
  /**
   * A task, with these entries of its journal; `served`: is there a handler for it, `callers`: who waits for it,
   * `holder`: does the owner of its attempt live.
   */
  readonly task?: {
    readonly id: string;
    readonly keys: readonly string[];
    readonly served: boolean;
    readonly callers: boolean;
    readonly holder: boolean;
  };
  /** The task with an idempotency key. */
  readonly sameKey?: { readonly principal: string | null; readonly key: string };
  /** How many tasks there are, in total and of a principal. */
  readonly usage?: { readonly principal: string | null };
  /** Queued tasks in a lane that this owner may run. */
  readonly runnable?: FairQuery;
  /** Queued tasks that wait, up to a time that has come at `now`. */
  readonly toWake?: ToWakeQuery;
  readonly running?: RunningQuery;
  /** Finished tasks that may be deleted at `now`. */
  readonly deletable?: { readonly now: number; readonly limit: number };
  readonly secret?: string;
}

export interface ToWakeQuery {
  readonly now: number;
  readonly limit: number;
}

/** Running tasks of an owner with ids above `after` that have not expired at `now`, in order of id. */
export interface RunningQuery {
  readonly owner: string;
  readonly after: string;
  readonly limit: number;
  readonly now: number;
}

/** Queued tasks, earliest `runAfter` first, at most as many as were asked for; those that cannot be read make it no fewer. */
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
  /** Where the next page begins; null where this was the last one. */
  readonly next: string | null;
}

/** The answers to a query; what it did not ask for is left out or empty. */
export interface Facts {
  /** The owner that the store was opened for. */
  readonly owner: string;
  readonly task?: TaskRecord | undefined;
  readonly entries: ReadonlyMap<string, JournalEntry>;
  /** Whether a living owner has a handler for the task. */
  readonly served?: boolean;
  /** Whether the task runs, and the owner of its attempt lives. */
  readonly held?: boolean;
  /** Of the owners in the task's `awaitedBy`, others that live. */
  readonly awaitedBy?: readonly string[];
  readonly sameKey?: TaskRecord | undefined;
  readonly usage?: { readonly total: Usage; readonly ofPrincipal: Usage | null };
  readonly runnable?: RunnableTasks;
  readonly toWake?: QueuedTasks;
  readonly running?: RunningTasks;
  readonly deletable?: readonly string[];
  readonly secret?: string | undefined;
}

/** What has to be known to decide a command. */
export function factsFor(command: TaskCommand): FactsQuery {
  switch (command.type) {
    case "create": {
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
      return { toWake: { now: command.now, limit: command.limit } };
    case "reclaim": {
      const { owner, after, limit, now } = command;
      return { running: { owner, after, limit, now } };
    }
    case "delete_expired":
      return { deletable: { now: command.now, limit: command.limit } };
    case "keep_secret":
      return { secret: command.name };
    default: {
      const served = command.type === "fail" && command.orphaned === true;
      const callers = asksForCallers(command);
      const holder = command.type === "cancel";
      return { task: { id: command.id, keys: journalKeysOf(command), served, callers, holder } };
    }
  }
}

function asksForCallers(command: TaskCommand): boolean {
  const { type } = command;
  return type === "join" || type === "leave" || (type === "cancel" && command.unlessWanted === true);
}

function journalKeysOf(command: TaskCommand): readonly string[] {
  switch (command.type) {
    case "record_step":
    case "close_input":
    case "sleep":
    case "end_sleep":
      return [command.key];
    case "open_input":
      return [command.input.key];
    case "answer_inputs":
      return command.answers.map(({ key }) => key);
    default:
      return [];
  }
}
