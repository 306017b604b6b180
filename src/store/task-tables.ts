import type { JournalEntry } from "../task/journal.ts";
import type { Outcome } from "../task/outcome.ts";
import type { Usage } from "../task/quota.ts";
import type { TaskRecord, TaskRequest } from "../task/record.ts";

/** What a synchronous store offers to the code that applies commands, inside one transaction. */
export interface TaskTables {
  /** Throws a `HoldfastError` for a task whose record cannot be read. */
  task(id: string): TaskRecord | undefined;
  entry(id: string, key: string): JournalEntry | undefined;
  /** A null principal is one principal like any other: that of callers who are not told apart. */
  taskByIdempotencyKey(principal: string | null, key: string): TaskRecord | undefined;
  /** The tasks of a principal, of all generations; of everybody where it is undefined. */
  usage(principal?: string): Usage;
  /** False, with nothing written, where the id or the wire id is taken. */
  insert(task: TaskRecord, request: TaskRequest): boolean;
  /** Writes the effect of a decision: the whole record, entries to insert or replace, the outcome if there is one. */
  save(task: TaskRecord, journal: readonly JournalEntry[], outcome: Outcome | null): void;
  /** Unfinished tasks with ids above `after` that have not expired at `now`, in order of id. */
  recoverable(after: string, limit: number, now: number): readonly string[];
  /** Takes the idempotency key from a finished task, and has it deleted at `deleteBy` if that is not null, or earlier. */
  releaseKey(id: string, deleteBy: number | null): void;
  /** Finished tasks to be deleted at `now`, earliest first. */
  deletable(now: number, limit: number): readonly string[];
  /** Keeps `value` under `name` unless there is one; returns the one that is kept. */
  keepSecret(name: string, value: string): string;
  /** Removes a task with all that belongs to it. */
  remove(id: string): void;
}
