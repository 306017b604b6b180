import type { GenerationName, TaskRecord } from "./record.ts";
import { statusOf } from "./outcome.ts";

/** What webhooks report: that a task was created, that its status changed, or that it was deleted early. */
export type DeliveryEvent =
  "created" | "working" | "input_required" | "completed" | "failed" | "cancelled" | "deleted";

/** How long after a change its messages are kept for a webhook (ms). */
export const deliveriesKeptMs = 7 * 24 * 3_600_000;

/** One change of a task for one webhook. It contains no data of callers, handlers or users. */
export interface Delivery {
  /** The name of the webhook. */
  readonly hook: string;
  readonly event: DeliveryEvent;
  readonly taskId: string;
  readonly tool: string;
  /** The owner of the task; null if callers are not told apart. */
  readonly principal: string | null;
  readonly generation: GenerationName;
  /** The record's version after the change. With the task's id, it identifies the change. */
  readonly version: number;
  /** When the change was made (epoch ms). */
  readonly at: number;
}

/** A delivery that the webhook has not accepted yet. */
export interface StoredDelivery extends Delivery {
  /** Grows in the order of changes. */
  readonly seq: number;
  /** When it may be sent (epoch ms); null once it is given up. */
  readonly dueAt: number | null;
  /** How often it was taken to be sent. */
  readonly tries: number;
  /** When it last failed, and why. */
  readonly failedAt: number | null;
  readonly problem: string | null;
}

/** The status of a task as webhooks name it. A result that reports a tool error is a failure. */
function eventOfStatus(
  task: Pick<TaskRecord, "state" | "openInputs" | "outcomeKind">,
): Exclude<DeliveryEvent, "created" | "deleted"> {
  const status = statusOf(task);
  if (status !== "settled") return status;
  return task.outcomeKind === "result" ? "completed" : "failed";
}

/** The deliveries for a change, to the webhooks with which the task was created. */
export function deliveriesOf(before: TaskRecord | undefined, after: TaskRecord): readonly Delivery[] {
  if (after.notifies === undefined) return none;
  if (before === undefined) return toEachHook(after, "created", after.createdAt);
  const event = eventOfStatus(after);
  return event === eventOfStatus(before) ? none : toEachHook(after, event, after.updatedAt);
}

/** The same for a task deleted early, since no later change reports it. */
export function deliveriesOfDeleted(task: TaskRecord, now: number): readonly Delivery[] {
  return toEachHook({ ...task, version: task.version + 1 }, "deleted", now);
}

/** The delivery that says to one webhook how a task stands; undefined if the task was created without that webhook. */
export function deliveryOfStatus(task: TaskRecord, hook: string): Delivery | undefined {
  if (task.notifies?.includes(hook) !== true) return undefined;
  const isNew = task.version === 1;
  const event = isNew ? "created" : eventOfStatus(task);
  const [delivery] = toEachHook({ ...task, notifies: [hook] }, event, task.updatedAt);
  return delivery;
}

const none: readonly Delivery[] = [];

function toEachHook(
  { id, tool, principal, generation, version, notifies = [] }: TaskRecord,
  event: DeliveryEvent,
  at: number,
): readonly Delivery[] {
  return notifies.map((hook) => ({ hook, event, taskId: id, tool, principal, generation, version, at }));
}

/**
 * Changes of webhook deliveries. A process takes a delivery until a given time; after that, others may take it. So a message may be sent
 * twice, but is never lost.
 */
export interface DeliveryCommands {
  /** Takes up to `limit` due deliveries of a webhook, earliest first, to be sent until `until` (epoch ms). */
  claim_deliveries: { readonly hook: string; readonly limit: number; readonly until: number };
  /**
   * A delivery was accepted, or must not be sent. Changes nothing if another process has taken it since: `tries` is its count when it was
   * taken.
   */
  end_delivery: { readonly seq: number; readonly tries: number };
  /** The same for a delivery to be sent again at `at` (epoch ms); `null`: it is given up. With `problem`, it failed. */
  retry_delivery: {
    readonly seq: number;
    readonly tries: number;
    readonly at: number | null;
    readonly problem: string | null;
    /** It was taken and not sent, which is no try. */
    readonly unsent?: true;
  };
  /** Makes up to `limit` given-up deliveries of a webhook due again; `waiting`: those that are due later; `seqs`: just these. */
  resend_deliveries: {
    readonly hook: string;
    readonly limit: number;
    readonly waiting?: true;
    readonly seqs?: readonly number[];
  };
  /** Adds a delivery that says how a task stands, if it is one of which the webhook is told. */
  repeat_delivery: { readonly id: string; readonly hook: string };
  /** Deletes, oldest first, up to `limit` deliveries of changes before `before` (epoch ms), and of those beyond the newest `most`. */
  trim_deliveries: { readonly most: number; readonly before: number; readonly limit: number };
}
