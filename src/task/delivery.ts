import type { GenerationName } from "./generations.ts";
import type { TaskRecord } from "./record.ts";
import { statusOf } from "./status.ts";

/** What webhooks are told of a task: that it was created, that its status changed, or that it was deleted before its time. */
export type DeliveryEvent =
  "created" | "working" | "input_required" | "completed" | "failed" | "cancelled" | "deleted";

/** How long after a change anything is kept for a webhook (ms). */
export const deliveriesKeptMs = 7 * 24 * 3_600_000;

/** One change of a task, to be told to one webhook. It has nothing of what callers, handlers and users said. */
export interface Delivery {
  /** The name of the webhook. */
  readonly hook: string;
  readonly event: DeliveryEvent;
  readonly taskId: string;
  readonly tool: string;
  /** Who owns the task; null where callers are not told apart. */
  readonly principal: string | null;
  readonly generation: GenerationName;
  /** Of the record after the change: with the task's id, it names the change. */
  readonly version: number;
  /** When it was made (epoch ms). */
  readonly at: number;
}

/** A delivery as the store has it until it has come to its webhook. */
export interface StoredDelivery extends Delivery {
  /** Grows with the order of changes. */
  readonly seq: number;
  /** When it may be sent (epoch ms); null once it was given up. */
  readonly dueAt: number | null;
  /** How often somebody took it to send it. */
  readonly tries: number;
  /** When it last failed, and how. */
  readonly failedAt: number | null;
  readonly problem: string | null;
}

/** How a task stands, in the words of webhooks. A result that says that the tool failed is a failure. */
export function eventOfStatus(
  task: Pick<TaskRecord, "state" | "openInputs" | "outcomeKind">,
): Exclude<DeliveryEvent, "created" | "deleted"> {
  const status = statusOf(task);
  if (status !== "settled") return status;
  return task.outcomeKind === "result" ? "completed" : "failed";
}

/** What a change has webhooks told of, those with which the task was made. */
export function deliveriesOf(before: TaskRecord | undefined, after: TaskRecord): readonly Delivery[] {
  if (after.notifies === undefined) return none;
  if (before === undefined) return told(after, "created", after.createdAt);
  const event = eventOfStatus(after);
  return event === eventOfStatus(before) ? none : told(after, event, after.updatedAt);
}

/** The same of a task that is deleted, as nothing tells of it any more. */
export function deliveriesOfDeleted(task: TaskRecord, now: number): readonly Delivery[] {
  return told({ ...task, version: task.version + 1 }, "deleted", now);
}

const none: readonly Delivery[] = [];

function told(
  { id, tool, principal, generation, version, notifies = [] }: TaskRecord,
  event: DeliveryEvent,
  at: number,
): readonly Delivery[] {
  return notifies.map((hook) => ({ hook, event, taskId: id, tool, principal, generation, version, at }));
}
