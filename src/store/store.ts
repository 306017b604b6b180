import type { JournalEnd, JournalEntry, JournalHead } from "../task/journal.ts";
import type { GenerationName } from "../task/generations.ts";
import type { TaskRecord, TaskRequest } from "../task/record.ts";
import type { TaskSnapshot } from "../task/snapshot.ts";
import type { CommandResult } from "../task/command-result.ts";
import type { TaskCommand, TaskCommandName } from "../task/command.ts";
import type { AdminStore } from "./admin-store.ts";
import type { MessageQueues } from "./message-queues.ts";
import type { NodeReports } from "./node-reports.ts";
import type { ClaimingHandler, HandlerName, StoreOwner } from "../task/owner.ts";
import type { Outbox } from "./outbox.ts";
import type { SessionStore } from "./session-store.ts";
import type { TaskLogs } from "./task-logs.ts";

/** A committed change of a task, and not what it was: read the task again to see its state. */
export interface TaskChange {
  readonly id: string;
  /** Of the record after the change; null: the task was deleted. */
  readonly version: number | null;
  /** It is above or below the task that the command was about: it may be possible to claim it now, or it may have to end soon. */
  readonly isRelative?: true;
}

/** What was committed; after a gap any task may have changed, so that whoever holds something of one reads it again. */
export type StoreChanges = readonly TaskChange[] | "gap";

/**
 * Whose tasks to list: those made in one generation by one principal; `null` is the principal of callers that are not told
 * apart, and leaving it out means all principals. With a scope (not empty): only tasks whose wire ids are unique in it.
 */
export interface TaskFilter {
  readonly generation: GenerationName;
  readonly principal?: string | null;
  readonly scope?: string;
}

/** A task's id on the wire of its generation, unique within its scope. */
export type WireName = Pick<TaskRecord, "generation" | "scope" | "wireId">;

/** Who made a change: the owner that hears of it, or another one. */
export type ChangedBy = "self" | "others";

/** Told of changes. */
export type ChangeListener = (changes: StoreChanges, by: ChangedBy) => void;

/** Looks for at least so many tasks to claim. Resolves with whether it took what there was; it never rejects. */
export type WorkListener = (tasks: number) => Promise<boolean>;

/** What an owner learns of itself and of others. */
export interface Renewal {
  /** False: it was taken for dead. Its tasks are being given to others, and its writes reject with `store_lost` unless it rejoins. */
  readonly held: boolean;
  /** Owners that are gone: their running tasks have to be reclaimed. */
  readonly gone: readonly string[];
  /** How many other owners live. */
  readonly others: number;
  /** Tools of which this owner is to start no tasks; left out where there are none. */
  readonly paused?: readonly string[];
}

/** A task that is found by its idempotency key. */
export interface KeyedTask {
  readonly id: string;
  readonly key: string;
}

/** A journal entry as a page shows it. */
export interface ListedEntry extends JournalHead {
  /** Grows with the order of first writes. */
  readonly place: number;
  /** The size of its request, value and error in the store. */
  readonly bytes: number;
}

/** A part of a journal; `next` is where the next page begins, null: this is the last. */
export interface JournalPage {
  readonly entries: readonly ListedEntry[];
  readonly next: string | null;
}

/**
 * Where tasks are stored, by one process or by several at a time: each is an owner. A write resolves only after its commit, and nothing shows a change before that. A refused command
 * is a value; a failed write rejects with a `HoldfastError` and has changed nothing. Reads show every change that was
 * acknowledged before. `store_failed` is retried later; `task_unreadable`, for a damaged task, is not.
 */
export interface TaskStore {
  /**
   * Opens the store for an owner and migrates its schema. Rejects with `store_locked` or `store_unusable` and a message that
   * says what to do.
   */
  open(owner: StoreOwner): Promise<void>;
  /** Resolves when all writes are durable; the owner is then as one that died. Later calls reject with `store_closed`. */
  close(): Promise<void>;
  /** Says that this owner lives, and finds out who does not any more. To be called once a second. */
  renew(): Promise<Renewal>;
  /**
   * Makes an owner that is not held any more one again, under the same id, and tells its listeners of a gap: what others took of it stays theirs.
   * Left out by a store for which its process has to be restarted.
   */
  rejoin?(): Promise<void>;
  /**
   * Says what the owner knows from now on, instead of what it said before; others are told of a gap. What it had queued for itself and has no
   * handler for any more can be claimed by those that have one.
   */
  setHandlers(handlers: readonly HandlerName[]): Promise<void>;

  /** Applies a command. The command is plain data that must not change until the write has ended. */
  write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;

  get(id: string): Promise<TaskRecord | undefined>;
  /** The id of the task with this wire id, or undefined. */
  find(wire: WireName): Promise<string | undefined>;
  /** A principal's tasks whose idempotency keys begin with `prefix`, in order of the keys, at most `limit`. */
  withKeys(principal: string | null, prefix: string, limit: number): Promise<readonly KeyedTask[]>;
  /**
   * A task with its open inputs and its outcome, or undefined. With `isVisible` the record is read first, and the rest only
   * where that returns true; where it returns false, the task is as good as none. It must not throw.
   */
  snapshot(id: string, isVisible?: (task: TaskRecord) => boolean): Promise<TaskSnapshot | undefined>;
  request(id: string): Promise<TaskRequest | undefined>;
  /**
   * A page of a task's journal, in an order of the store's own: at most `limit` entries. The first page begins at `""`, and each
   * other at the `next` of the one before. A store ends a page earlier where to read more would hold up others.
   */
  journal(id: string, from: string, limit: number): Promise<JournalPage>;
  /** What the entries under these keys ended with, in any order; those that the journal has not are left out. */
  journalEnds(id: string, keys: readonly string[]): Promise<readonly JournalEnd[]>;
  journalEntry(id: string, key: string): Promise<JournalEntry | undefined>;
  /**
   * A page of an owner's tasks, newest first: at most `limit` with ids below `before` (`null`: from the newest). Tasks whose
   * ttl is over at `now` and tasks that cannot be read are left out. A page of fewer than `limit` is the last.
   */
  list(owner: TaskFilter, before: string | null, limit: number, now: number): Promise<readonly TaskRecord[]>;
  /**
   * A page of unfinished tasks, oldest first: at most `limit` with ids above `after`. Tasks that cannot be read are left out;
   * `claim`, `wake` and `reclaim` report those. A page of fewer than `limit` is the last.
   */
  unfinished(after: string, limit: number): Promise<readonly TaskRecord[]>;
  /** Whether there is a task that this owner can claim for the handlers now. */
  hasClaimable(handlers: readonly ClaimingHandler[]): Promise<boolean>;
  /** What would have to run the queued tasks that no living owner has a handler for. */
  orphanedHandlers(): Promise<readonly HandlerName[]>;
  /** The ids of queued tasks that such a handler would run, at most `limit`: first those that can be claimed, and then those that wait. */
  queued(handler: HandlerName, limit: number): Promise<readonly string[]>;
  /** Unfinished tasks whose end of life is at or before `now`, earliest first, at most `limit`. */
  due(now: number, limit: number): Promise<readonly string[]>;
  /** The earliest time later than `after` at which the sweeper has work, be it to wake a task; or null. */
  nextSweepAt(after: number): Promise<number | null>;

  /**
   * True where its owners share their load, mostly on several machines: what has to wait for a slot is run by whichever of them has one. Otherwise the process
   * that took it runs it, as long as that one lives.
   */
  readonly sharesLoad?: boolean;
  /**
   * The key of hashes that are stored of what callers send, the same for all owners; to be called once the store is open. Undefined, or left out, where what they send is stored in
   * clear: its hashes are not keyed.
   */
  hashKey?(): Uint8Array | undefined;
  /** Left out by a store that keeps no sessions of HTTP clients: they then end with their process. */
  readonly sessions?: SessionStore;
  /** Left out by a store that keeps no logs and outputs of tasks: `task.log` and `task.output` then throw `configuration`. */
  readonly logs?: TaskLogs;
  /** Left out by a store that operators cannot look into. */
  readonly admin?: AdminStore;
  /** Left out by a store that keeps nothing for webhooks: a process with some then does not start. */
  readonly outbox?: Outbox;
  /** Left out by a store that keeps nothing of what its processes say of themselves: operators then see no activity and no nodes. */
  readonly reports?: NodeReports;
  /** Left out by a store that keeps no messages for clients: servers on SDK v1 cannot use it. */
  readonly messages?: MessageQueues;

  /**
   * Calls `listener` after each commit of this owner, before the writes of that commit resolve, and soon after the commits of
   * others. Returns a function that ends the subscription.
   */
  subscribe(listener: ChangeListener): () => void;
  /**
   * Calls `listener` when there may be something to claim for any owner, of which others may not have been told; it resolves with false where they
   * have to be. Left out by a store whose changes of others are to be taken for that: of this one, only a gap is. Returns a function that ends
   * the subscription.
   */
  readonly onWork?: ((listener: WorkListener) => () => void) | undefined;
  /**
   * Calls `listener` with false when the store hears of what others commit only by looking for it, and with true when it is told again. Until
   * its end; to be called before `open`. Left out by a store that is told of nothing.
   */
  onListening?(listener: (isListening: boolean) => void): void;
  /**
   * Calls `listener` with how many commands were committed together, after each commit. Until its end; to be called before `open`. Left out by a store that makes
   * no groups of them.
   */
  onCommit?(listener: (commands: number) => void): void;
}
