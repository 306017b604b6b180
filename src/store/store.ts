import type { HoldfastError } from "../task/fault.ts";
import type { JournalEnd, JournalEntry, JournalHead } from "../task/journal.ts";
import type { GenerationName, TaskRecord, TaskRequest, TaskSnapshot } from "../task/record.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../task/command.ts";
import type { Protection } from "./protection.ts";
import type { AdminStore, NodeReports } from "./admin-store.ts";
import type { LimitStore } from "./limits.ts";
import type { MessageQueues, SessionStore } from "./session-store.ts";
import type { ClaimingHandler, HandlerName, StoreOwner } from "../task/queue.ts";
import type { Outbox } from "./outbox.ts";
import type { LineList, TaskLine } from "../task/task-line.ts";

/** A committed change of a task, without its content: read the task again to see its state. */
export interface TaskChange {
  readonly id: string;
  /** The record's version after the change; null: the task was deleted. */
  readonly version: number | null;
  /** The task is above or below the one that the command changed: it may now be claimable, or have to end soon. */
  readonly isRelative?: true;
}

/** What was committed. After a gap any task may have changed, so read again what you hold in memory. */
export type StoreChanges = readonly TaskChange[] | "gap";

/**
 * Selects tasks by generation and principal. `null` is the principal of callers that are not distinguished; left out, it means all principals.
 * With a scope (not empty): only tasks whose wire ids are unique in it.
 */
export interface TaskFilter {
  readonly generation: GenerationName;
  readonly principal?: string | null;
  readonly scope?: string;
}

/** A task's id on the wire of its generation, unique within its scope. */
export type WireName = Pick<TaskRecord, "generation" | "scope" | "wireId">;

/** Who made a change: this owner, or another one. */
export type ChangedBy = "self" | "others";

/** Receives changes. */
export type ChangeListener = (changes: StoreChanges, by: ChangedBy) => void;

/** Looks for at least this many tasks to claim. Resolves with whether it took all there were; it never rejects. */
export type WorkListener = (tasks: number) => Promise<boolean>;

/** What an owner learns about itself and others. */
export interface Renewal {
  /** False: another owner declared it dead. Its tasks go to others, and its writes reject with `store_lost` unless it rejoins. */
  readonly held: boolean;
  /** Why, if no other owner did: the place where the tasks are is gone. */
  readonly lost?: HoldfastError;
  /** Owners that are gone: their running tasks have to be reclaimed. */
  readonly gone: readonly string[];
  /** The number of other living owners. */
  readonly others: number;
  /**
   * What the store's own clock showed during the renewal (epoch ms). Owners on other machines judge by it what is due. Left out if that is
   * the machine's clock.
   */
  readonly now?: number;
  /** The store's secrets have changed since the last renewal. */
  readonly secretsChanged?: true;
  /** Tools whose tasks this owner must not start; left out if there are none. */
  readonly paused?: readonly string[];
  /** By when this owner, which is to take nothing new, ends what it works on (epoch ms); left out: it takes new work. */
  readonly drainUntil?: number;
}

/** A running task, and the token of the attempt that holds it. */
export interface HeldToken {
  readonly id: string;
  readonly token: string;
}

/** The lease of an owner, in a store where it counts as dead once it has not renewed for too long. */
export interface OwnerLease {
  /** How long it lasts after a renewal. */
  readonly ms: number;
  /** Whether it certainly holds: nobody can have taken a task of this owner. Costs nothing. */
  readonly holds: boolean;
  /** The running tasks that the store has under this owner: at most `limit`, with ids above `after`. */
  held(after: string, limit: number): Promise<readonly HeldToken[]>;
}

/** A task found by its idempotency key. */
export interface KeyedTask {
  readonly id: string;
  readonly key: string;
}

/** A journal entry in a page. */
export interface ListedEntry extends JournalHead {
  /** Grows in the order of first writes. */
  readonly place: number;
  /** The stored size of its request, value and error. */
  readonly bytes: number;
}

/** A page of a journal. `next` is where the next page begins; null on the last page. */
export interface JournalPage {
  readonly entries: readonly ListedEntry[];
  readonly next: string | null;
}

/** At most `limit` tasks with ids above `after`: those that are blocked, or those that are not. */
export interface QueuedPage {
  readonly after: string;
  readonly limit: number;
  readonly blocked: boolean;
}

/** Resolves when there is memory for a text that takes that many bytes in the store. */
export type ReserveMemory = (bytes: number) => Promise<void>;

/**
 * Where tasks are stored, by one or several processes at a time: each is an owner. A write resolves only after its commit, and nothing
 * shows a change before that. A refused command is a value; a failed write rejects with a `HoldfastError` and has changed nothing. A
 * value that is no command rejects with `invalid_params`. Reads show every change that was acknowledged before. Callers retry after
 * `store_failed`, but not after `store_refused`, for what the store will not take later either, nor after `task_unreadable`, for a damaged
 * task.
 */
export interface TaskStore {
  /**
   * Opens the store for an owner and migrates its schema. Rejects with `store_locked` or `store_unusable` and a message that
   * says what to do.
   */
  open(owner: StoreOwner): Promise<void>;
  /** Decides how texts are stored: call it at most once, before `open`. Left out by a store that cannot encrypt. */
  protect?(protection: Protection): void;
  /** Resolves when all writes are durable. The owner then counts as dead. Later calls reject with `store_closed`. */
  close(): Promise<void>;
  /** Reports that this owner lives, and finds owners that no longer do. Call it once a second, and four times in a lease. */
  renew(): Promise<Renewal>;
  /**
   * Makes this owner valid again after another owner declared it dead, under the same id, and reports a gap to its listeners: tasks that others took
   * stay theirs. Left out by a store whose process must be restarted instead.
   */
  rejoin?(): Promise<void>;
  /**
   * Replaces the list of handlers that the owner has; others are notified of a gap. Tasks queued for this owner that it no longer has a handler
   * for can be claimed by owners that have one.
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
   * A task with its open inputs and its outcome, or undefined. With `isVisible` the record is read first, and the rest only if that returns
   * true; if it returns false, the result is undefined. It must not throw. With `reserve`, an outcome of more than 64 KiB is read only after
   * that has resolved; the read rejects as it does.
   */
  snapshot(
    id: string,
    isVisible?: (task: TaskRecord) => boolean,
    reserve?: ReserveMemory,
  ): Promise<TaskSnapshot | undefined>;
  request(id: string): Promise<TaskRequest | undefined>;
  /**
   * A page of a task's journal, in the store's own order: at most `limit` entries. The first page begins at `""`, each further one at the
   * `next` of the page before. A store may end a page earlier, to avoid holding up others.
   */
  journal(id: string, from: string, limit: number): Promise<JournalPage>;
  /** The results or errors of the entries with these keys, in any order. Keys that are not in the journal are left out. */
  journalEnds(id: string, keys: readonly string[]): Promise<readonly JournalEnd[]>;
  journalEntry(id: string, key: string): Promise<JournalEntry | undefined>;
  /**
   * A page of an owner's tasks, newest first: at most `limit` with ids below `before` (`null`: from the newest). Tasks whose ttl is over at
   * `now` and tasks that cannot be read are left out. A page with fewer than `limit` is the last.
   */
  list(owner: TaskFilter, before: string | null, limit: number, now: number): Promise<readonly TaskRecord[]>;
  /**
   * A page of unfinished tasks, oldest first: at most `limit` with ids above `after`. Tasks that cannot be read are left out; `claim`,
   * `wake` and `reclaim` report those. A page with fewer than `limit` is the last.
   */
  unfinished(after: string, limit: number): Promise<readonly TaskRecord[]>;
  /** Whether this owner can claim a task for the handlers now, or could but for a suspect that runs (`suspicion.ts`). */
  hasClaimable(handlers: readonly ClaimingHandler[]): Promise<boolean>;
  /** Handlers of queued tasks that no living owner has. */
  orphanedHandlers(): Promise<readonly HandlerName[]>;
  /** The ids of queued tasks for a handler, blocked ones or all others, in order. */
  queued(handler: HandlerName, page: QueuedPage): Promise<readonly string[]>;
  /** Unfinished tasks whose end of life is at or before `now`, earliest first, at most `limit`. */
  due(now: number, limit: number): Promise<readonly string[]>;
  /** The earliest time later than `after` at which the sweeper has work, including waking a task; or null. */
  nextSweepAt(after: number): Promise<number | null>;

  /** Left out by a store whose owners live exactly as long as their processes. */
  readonly lease?: OwnerLease;
  /**
   * True if owners share their load, mostly on several machines: any owner with a free slot runs a waiting task. Otherwise the process that
   * took it runs it, as long as it lives.
   */
  readonly sharesLoad?: boolean;
  /** Left out by a store that keeps no HTTP sessions: they then end with their process. */
  readonly sessions?: SessionStore;
  /** Left out by a store that keeps no logs and outputs of tasks: `task.log` and `task.output` then throw `configuration`. */
  readonly logs?: TaskLogs;
  /** Left out by a store that keeps no artifacts: `task.artifact` then rejects with `configuration`. */
  readonly pieces?: ArtifactPieces;
  /** Left out by a store that operators cannot read. */
  readonly admin?: AdminStore;
  /** Left out by a store that keeps no webhook messages: a process with webhooks then does not start. */
  readonly outbox?: Outbox;
  /** Left out by a store that keeps no reports of its processes: operators then see no activity and no nodes. */
  readonly reports?: NodeReports;
  /** Left out by a store that counts no limits: a process that declares some then does not start. */
  readonly limits?: LimitStore;
  /** Left out by a store that keeps no messages for clients: servers on SDK v1 cannot use it. */
  readonly messages?: MessageQueues;

  /**
   * Calls `listener` after each commit of this owner, before the writes of that commit resolve, and soon after the commits of
   * others. Returns a function that ends the subscription.
   */
  subscribe(listener: ChangeListener): () => void;
  /**
   * Calls `listener` when tasks may be claimable for any owner, and other owners may not know. The listener resolves with false if others
   * must be told. Left out by a store for which other owners' changes serve as this signal; with it, of those only a gap does. Returns a
   * function that ends the subscription.
   */
  readonly onWork?: ((listener: WorkListener) => () => void) | undefined;
  /**
   * Calls `listener` with false when the store has to poll for commits by others, and with true when it is notified again. Lasts until the
   * store closes; call it before `open`. Left out by a store without notifications.
   */
  onListening?(listener: (isListening: boolean) => void): void;
  /**
   * Calls `listener` after each commit with the number of commands in it. Lasts until the store closes; call it before `open`. Left out by
   * a store that does not group commands.
   */
  onCommit?(listener: (commands: number) => void): void;
}

/**
 * The pieces of a store's artifacts. The command `write_piece` stores them, and they are deleted with their task.
 */
export interface ArtifactPieces {
  /** A piece in base64 of the artifact under this key of the journal; undefined if there is none. */
  read(id: string, key: string, seq: number): Promise<string | undefined>;
  /**
   * Deletes some of the pieces that deleted tasks have left, as much as a commit should take; resolves with whether there may be more. Left out
   * by a store that deletes all of a task at once.
   */
  deleteLeft?(): Promise<boolean>;
}

/** A store's logs and outputs of tasks. The command `append` adds lines; they are deleted with their task. */
export interface TaskLogs {
  /** Lines of a task's list with numbers above `after`, in order, at most `limit`; none if the task does not exist. */
  read(id: string, list: LineList, after: number, limit: number): Promise<readonly TaskLine[]>;
}
