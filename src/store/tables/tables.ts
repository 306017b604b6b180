/** All tables that both stores have: those of tasks, and here those of sessions, secrets, operators and webhooks. */

import type { Delivery, DeliveryEvent, StoredDelivery } from "../../task/delivery.ts";
import { bulkActions, bulkEnds, type BulkJob, type BulkTask } from "../../task/bulk.ts";
import type { CauseMark } from "../../task/cause.ts";
import { generations, type Action, type StoredAction } from "../../task/record.ts";
import type { NodeReport, PausedTool } from "../admin-store.ts";
import { inClear, integer, type Row, textOrStored } from "../row.ts";
import type { StoredSession } from "../session-store.ts";
import {
  aFlag,
  aName,
  anInteger,
  aSerial,
  aText,
  aTime,
  json,
  once,
  orNull,
  sealed,
  withWords,
} from "./kind.ts";
import {
  childTable,
  eventTable,
  journalTable,
  lineTable,
  messageTable,
  outcomeTable,
  pieceTable,
  requestTable,
} from "./of-task.ts";
import { Table, type AnyTable } from "./table.ts";
import { taskTable } from "./task.ts";

/** A session of another principal is not this one. */
export const sessionTable = new Table<StoredSession>("session", {
  members: {
    id: aText,
    principal: orNull(aText),
    expiresAt: aTime,
    state: sealed(aText, { key: ({ principal }: StoredSession) => principal }),
  },
  key: ["id"],
  indexes: {
    session_principal: { on: "principal, expires_at, id" },
    session_expiry: { on: "expires_at, id" },
  },
});

/** What the database itself has as its state. */
export function storedState(row: Row): string {
  return String(row[sessionTable.at.state.place]);
}

/** Encrypted by `Protection`, once for each key. */
export const secretTable = new Table<{ readonly name: string; readonly value: string }>("secret", {
  members: { name: aText, value: aText },
  key: ["name"],
});

/** How long actions are kept (ms). Older ones are deleted when new ones are written. */
export const actionsKeptMs = 90 * 24 * 3_600_000;

export const actionTable = new Table<StoredAction, Action>("action", {
  members: {
    seq: aSerial,
    at: anInteger,
    actor: aText,
    action: aText,
    taskId: orNull(aText),
    tool: orNull(aText),
    job: orNull(aText),
    detail: orNull(aText),
  },
  key: ["seq"],
  indexes: {
    action_task: { on: "task_id, seq", where: "task_id IS NOT NULL" },
    action_job: { on: "job", where: "job IS NOT NULL" },
  },
});

/** How long bulk jobs are kept after their end, like the actions that name them, and from when one that was not started is deleted (ms). */
export const bulkJobsKeptMs = { ended: actionsKeptMs, previewed: 24 * 3_600_000 };

/** Of a bulk job that is to be worked on, as statements repeat it. */
export const isUnderWay = "started_at IS NOT NULL AND ended_at IS NULL";

export const bulkJobTable = new Table<BulkJob>("bulk_job", {
  members: {
    id: aText,
    actor: once(aText),
    action: once(aName(bulkActions)),
    selection: once(json<BulkJob["selection"]>()),
    principal: once(orNull(aText)),
    text: once(withWords(orNull(aText), (text, convert) => convert(text))),
    options: once(json<BulkJob["options"]>()),
    createdAt: once(anInteger),
    total: anInteger,
    startedAt: orNull(anInteger),
    endedAt: orNull(anInteger),
    cancelledBy: orNull(aText),
    heldBy: orNull(aText),
    heldUntil: orNull(anInteger),
  },
  key: ["id"],
  indexes: { bulk_job_under_way: { on: "id", where: isUnderWay } },
});

export const bulkTaskTable = new Table<BulkTask>("bulk_task", {
  members: {
    job: aText,
    place: anInteger,
    taskId: once(aText),
    endedAs: orNull(aName(bulkEnds)),
    created: orNull(aText),
    code: orNull(aText),
    message: orNull(aText),
  },
  key: ["job", "place"],
  indexes: { bulk_task_end: { on: "job, ended_as, place" }, bulk_task_task: { on: "task_id, job" } },
});

export const pausedToolTable = new Table<PausedTool>("paused_tool", {
  members: { tool: aText, since: anInteger, actor: aText },
  key: ["tool"],
});

export const causeMarkTable = new Table<CauseMark>("cause_mark", {
  members: {
    cause: aText,
    muted: aFlag,
    note: withWords(orNull(aText), (note, convert) => convert(note)),
    actor: aText,
    at: anInteger,
  },
  key: ["cause"],
});

const deliveryEvents: Readonly<Record<DeliveryEvent, true>> = {
  created: true,
  working: true,
  input_required: true,
  completed: true,
  failed: true,
  cancelled: true,
  deleted: true,
};

export const deliveryTable = new Table<StoredDelivery, Omit<StoredDelivery, "seq">>("delivery", {
  members: {
    seq: aSerial,
    hook: aText,
    event: aName(deliveryEvents),
    taskId: aText,
    tool: aText,
    principal: orNull(aText),
    generation: aName(generations),
    version: anInteger,
    at: anInteger,
    dueAt: orNull(anInteger),
    tries: anInteger,
    failedAt: orNull(anInteger),
    problem: orNull(aText),
  },
  key: ["seq"],
  indexes: {
    delivery_due: { on: "hook, due_at, seq" },
    delivery_failed: { on: "hook, failed_at", where: "failed_at IS NOT NULL" },
  },
});

const textsOf = (known: Readonly<Record<string, unknown>>): string =>
  Object.keys(known)
    .map((word) => `'${word}'`)
    .join(", ");

/**
 * Statements use this condition to skip rows that another version wrote and this one cannot read: otherwise they would find them first,
 * again and again.
 */
export const knownDeliveries = `event IN (${textsOf(deliveryEvents)}) AND generation IN (${textsOf(generations)})`;

/** The readable deliveries among rows. */
export function deliveriesIn(rows: readonly Row[]): readonly StoredDelivery[] {
  return rows.flatMap((row) => {
    try {
      return deliveryTable.read("", row, inClear);
    } catch {
      return []; // deleted when it is old, like any undelivered one
    }
  });
}

/** One that is due at once. */
export function newDelivery(made: Delivery): Omit<StoredDelivery, "seq"> {
  return { ...made, dueAt: made.at, tries: 0, failedAt: null, problem: null };
}

/** Also of a damaged row: operators see the others. */
export function reportOf(row: Row): NodeReport {
  const { owner, minute, body } = reportTable.at;
  return { owner: textOrStored(row, owner), minute: integer(row, minute), body: textOrStored(row, body) };
}

export const reportTable = new Table<NodeReport>("report", {
  members: { owner: once(aText), minute: once(anInteger), body: aText },
  key: ["minute", "owner"],
});

/** In the order in which they are made, and in which a copy of a store has them. */
export const tables: readonly AnyTable[] = [
  taskTable,
  requestTable,
  journalTable,
  outcomeTable,
  lineTable,
  pieceTable,
  childTable,
  eventTable,
  sessionTable,
  messageTable,
  secretTable,
  actionTable,
  bulkJobTable,
  bulkTaskTable,
  pausedToolTable,
  causeMarkTable,
  deliveryTable,
  reportTable,
];
