import type { JournalEntry } from "../task/journal.ts";
import type { GenerationName, TaskRecord, TaskRequest } from "../task/record.ts";
import type { TaskSnapshot } from "../task/snapshot.ts";
import type { TaskEvent } from "../task/transition.ts";
import type { CommandResult, TaskCommand, TaskCommandName } from "../task/command.ts";

/** A committed change; whoever cares reads the task again. */
export interface TaskChange {
  readonly id: string;
  readonly event: TaskEvent | "create" | "delete";
}

/**
 * Whose tasks: made through one generation by one principal; null is the principal of callers who are not told apart.
 * Without a principal: those of all of them. With a scope, which is not empty: those alone whose wire ids are unique in it.
 */
export interface TaskOwner {
  readonly generation: GenerationName;
  readonly principal?: string | null;
  readonly scope?: string;
}

/** What a task is called on the wire of its generation; unique there in its scope. */
export type WireName = Pick<TaskRecord, "generation" | "scope" | "wireId">;

/**
 * Where tasks live. A write resolves only after its commit, and nothing shows a change before that (guarantee 1); a
 * refused command is a value, a failed write rejects with a `HoldfastError` and has changed nothing. Reads show
 * every change that was acknowledged before they were asked. What fails with `store_failed` is asked again later; what
 * fails with `task_unreadable`, as what is stored of that task is damaged, is not.
 */
export interface TaskStore {
  /** Takes the store for this process and brings its schema up to date; rejects with `store_locked`,
   * `store_unusable` and a message that names the way out. */
  open(): Promise<void>;
  /** Resolves when what was written is safe and the store is free for another owner. Later calls reject with
   * `store_closed`. */
  close(): Promise<void>;

  /** The command, and all in it, is plain data that nobody changes until the write has ended. */
  write<N extends TaskCommandName>(command: TaskCommand<N>): Promise<CommandResult<N>>;

  get(id: string): Promise<TaskRecord | undefined>;
  /** The id of the task that is called so, or undefined. */
  find(wire: WireName): Promise<string | undefined>;
  snapshot(id: string): Promise<TaskSnapshot | undefined>;
  request(id: string): Promise<TaskRequest | undefined>;
  /** All entries of a task, in the order in which they were first written. */
  journal(id: string): Promise<readonly JournalEntry[]>;
  journalEntry(id: string, key: string): Promise<JournalEntry | undefined>;
  /**
   * An owner's tasks, newest first, in pages: ids below `before` (null: from the newest on), at most `limit`. Without those
   * whose time is over at `now`, and without any that cannot be read: fewer than `limit` are the last ones.
   */
  list(owner: TaskOwner, before: string | null, limit: number, now: number): Promise<readonly TaskRecord[]>;
  /**
   * Unfinished tasks by age, in pages: ids above `after`, at most `limit`. Without any that cannot be read, which `recover`
   * names; fewer than `limit` are the last ones.
   */
  unfinished(after: string, limit: number): Promise<readonly TaskRecord[]>;
  /** Unfinished tasks whose end of life is at or before `now`, earliest first, at most `limit`. */
  due(now: number, limit: number): Promise<readonly string[]>;
  /** The earliest time later than `after` at which the sweeper has work, or null. */
  nextSweepAt(after: number): Promise<number | null>;

  /** Calls `listener` after each commit; returns the way to stop it. */
  subscribe(listener: (changes: readonly TaskChange[]) => void): () => void;
}
