import type { BulkJob } from "../task/bulk.ts";
import type { JournalEntry } from "../task/journal.ts";
import type { Usage } from "../task/queue.ts";
import type { TaskRecord } from "../task/record.ts";
import type { FairQuery } from "./fair-order.ts";
import type {
  EventFacts,
  EventQuery,
  QueuedTasks,
  RunnableTasks,
  RunningQuery,
  RunningTasks,
  ToWakeQuery,
} from "./facts.ts";
import type { StoredDelivery } from "../task/delivery.ts";
import type { DeliveryQuery, ExcessQuery } from "./outbox.ts";
import type { TableWrite } from "./table-write.ts";

/** The tables of a synchronous store, for the code that applies commands inside one transaction. */
export interface TaskTables {
  /** Throws a `HoldfastError` for a task whose record cannot be read. */
  task(id: string): TaskRecord | undefined;
  entry(id: string, key: string): JournalEntry | undefined;
  /** The unfinished tasks that a task called; unreadable ones are left out. */
  children(parent: string): readonly TaskRecord[];
  /** The ids of ended tasks below these, of which each has no parent. */
  endedBelow(roots: readonly string[]): readonly string[];
  event(taskId: string, query: EventQuery): EventFacts;
  /** A null principal is one like any other: that of callers that are not distinguished. */
  taskByIdempotencyKey(principal: string | null, key: string): TaskRecord | undefined;
  /** The number of a principal's tasks, of all generations; of all principals if undefined. */
  usage(principal?: string): Usage;
  /** Whether a living owner has a handler for the task. */
  isServed(task: TaskRecord): boolean;
  /** Whether an owner lives, or may be paused and continue. */
  lives(owner: string): boolean;
  /** The tasks that this owner may run. */
  runnable(query: FairQuery, owner: string): RunnableTasks;
  toWake(query: ToWakeQuery): QueuedTasks;
  running(query: RunningQuery): RunningTasks;
  /** Finished tasks to be deleted at `now`, earliest first. */
  deletable(now: number, limit: number): readonly string[];
  /** Leaves out unreadable ones. */
  deliveries(query: DeliveryQuery): readonly StoredDelivery[];
  /** Their numbers. */
  excessDeliveries(query: ExcessQuery): readonly number[];
  secret(name: string): string | undefined;
  bulkJob(id: string): BulkJob | undefined;
  /** False, with nothing written, for an insert with a taken id or wire id. */
  write(write: TableWrite): boolean;
}
