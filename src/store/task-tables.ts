import type { JournalEntry } from "../task/journal.ts";
import type { Usage } from "../task/quota.ts";
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

/** What a synchronous store offers to the code that applies commands, inside one transaction. */
export interface TaskTables {
  /** Throws a `HoldfastError` for a task whose record cannot be read. */
  task(id: string): TaskRecord | undefined;
  entry(id: string, key: string): JournalEntry | undefined;
  /** The tasks that a task called and that have not ended; those that cannot be read are left out. */
  children(parent: string): readonly TaskRecord[];
  event(taskId: string, query: EventQuery): EventFacts;
  /** A null principal is one principal like any other: that of callers who are not told apart. */
  taskByIdempotencyKey(principal: string | null, key: string): TaskRecord | undefined;
  /** The number of a principal's tasks, of all generations; of all principals if undefined. */
  usage(principal?: string): Usage;
  /** Whether a living owner has a handler for the task. */
  isServed(task: TaskRecord): boolean;
  /** Whether an owner is there, or may be paused and continue. */
  lives(owner: string): boolean;
  /** For this owner. */
  runnable(query: FairQuery, owner: string): RunnableTasks;
  toWake(query: ToWakeQuery): QueuedTasks;
  running(query: RunningQuery): RunningTasks;
  /** Finished tasks to be deleted at `now`, earliest first. */
  deletable(now: number, limit: number): readonly string[];
  /** Those that cannot be read are left out. */
  deliveries(query: DeliveryQuery): readonly StoredDelivery[];
  /** Their numbers. */
  excessDeliveries(query: ExcessQuery): readonly number[];
  secret(name: string): string | undefined;
  /** False, with nothing written, for an insert of an id or a wire id that is taken. */
  write(write: TableWrite): boolean;
}
