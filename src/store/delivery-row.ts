import type { Delivery, DeliveryEvent, StoredDelivery } from "../task/delivery.ts";
import type { WaitingDeliveries } from "./outbox.ts";
import { generations } from "../task/record.ts";
import { columnsOf, integer, integerOrNull, oneOf, text, textOrNull, type Row } from "./row.ts";

/** The columns of a new delivery. */
export const deliveryColumns = [
  "hook",
  "event",
  "task_id",
  "tool",
  "principal",
  "generation",
  "version",
  "at",
  "due_at",
  "tries",
] as const;

/** What statements select for `deliveryOf`. */
export const storedDeliveryColumns = ["seq", ...deliveryColumns, "failed_at", "problem"] as const;

const at = columnsOf(storedDeliveryColumns);

/** The values for `deliveryColumns`. The delivery is due at once. */
export function deliveryRowOf(
  { hook, event, taskId, tool, principal, generation, version, at: made }: Delivery,
  stored: (text: string) => string,
): (string | number | null)[] {
  const owner = principal === null ? null : stored(principal);
  return [hook, event, stored(taskId), stored(tool), owner, generation, version, made, made, 0];
}

const events: Readonly<Record<DeliveryEvent, true>> = {
  created: true,
  working: true,
  input_required: true,
  completed: true,
  failed: true,
  cancelled: true,
  deleted: true,
};

const textsOf = (known: Readonly<Record<string, unknown>>): string =>
  Object.keys(known)
    .map((word) => `'${word}'`)
    .join(", ");

/**
 * Statements use this condition to skip rows that another version wrote and this one cannot read: otherwise they would find them first,
 * again and again.
 */
export const knownDeliveries = `event IN (${textsOf(events)}) AND generation IN (${textsOf(generations)})`;

/** The readable deliveries among rows of `storedDeliveryColumns`. */
export function deliveriesIn(rows: readonly Row[]): readonly StoredDelivery[] {
  return rows.flatMap((row) => {
    try {
      return deliveryOf(row);
    } catch {
      return []; // deleted when it is old, like any undelivered one
    }
  });
}

function deliveryOf(row: Row): StoredDelivery {
  return {
    seq: integer(row, at.seq),
    hook: text(row, at.hook),
    event: oneOf(row, at.event, events),
    taskId: text(row, at.task_id),
    tool: text(row, at.tool),
    principal: textOrNull(row, at.principal),
    generation: oneOf(row, at.generation, generations),
    version: integer(row, at.version),
    at: integer(row, at.at),
    dueAt: integerOrNull(row, at.due_at),
    tries: integer(row, at.tries),
    failedAt: integerOrNull(row, at.failed_at),
    problem: textOrNull(row, at.problem),
  };
}

const failureAt = columnsOf(["failed_at", "problem"]);

/** Reads a row of these two columns. */
export function failureOf(row: Row | undefined): WaitingDeliveries["lastFailure"] {
  if (row === undefined) return null;
  return { at: integer(row, failureAt.failed_at), problem: textOrNull(row, failureAt.problem) ?? "" };
}
