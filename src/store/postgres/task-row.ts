import { createHash } from "node:crypto";
import { HoldfastError } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import { DecryptionError } from "../../task/stored-text.ts";
import type { Codec } from "../codec.ts";
import { openedRecord, proofOf, sealedRecord } from "../record-words.ts";
import type { Row } from "../row.ts";
import { toStored } from "../stored-text.ts";

type Value = string | number | null;

interface TaskColumn {
  readonly name: string;
  readonly type: "text" | "bigint" | "smallint";
  /** False for columns that are written once. */
  readonly changes: boolean;
  readonly value: (task: TaskRecord, codec: Codec) => Value;
}

function fixed(name: string, value: TaskColumn["value"]): TaskColumn {
  return { name, type: "text", changes: false, value };
}

function changing(name: string, value: TaskColumn["value"], type: TaskColumn["type"] = "text"): TaskColumn {
  return { name, type, changes: true, value };
}

export const stored = (value: string | null): string | null => (value === null ? null : toStored(value));

/** The columns of `task`: those that statements search by, and the record. */
export const columns: readonly TaskColumn[] = [
  fixed("id", ({ id }) => toStored(id)),
  fixed("wire_id", ({ id, wireId }) => (wireId === id ? null : toStored(wireId))),
  fixed("generation", ({ generation }) => generation),
  fixed("scope", ({ scope }) => toStored(scope)),
  fixed("principal", ({ principal }) => stored(principal)),
  fixed("method", ({ method }) => method),
  fixed("tool", ({ tool }) => toStored(tool)),
  changing("idempotency_key", ({ idempotencyKey }) => stored(idempotencyKey)),
  changing("state", ({ state }) => state),
  changing("owner", ({ owner }) => (owner === null ? "" : toStored(owner))),
  changing("lane", ({ lane }) => lane),
  changing("run_after", ({ runAfter }) => runAfter, "bigint"),
  changing("sweep_at", ({ sweepAt }) => sweepAt, "bigint"),
  changing("limited", ({ limited }) => Number(limited), "smallint"),
  changing("outcome_kind", ({ outcomeKind }) => outcomeKind),
  changing("asks", ({ state, openInputs }) => (openInputs > 0 && !isTerminal(state) ? 1 : null), "smallint"),
  changing("record", (task, codec) =>
    JSON.stringify({ ...sealedRecord(task, codec), ...proofMember(task, codec) }),
  ),
];

/** For `unnest`: the values of all records, by column. */
export function arraysOf(
  of: readonly TaskColumn[],
  tasks: readonly TaskRecord[],
  codec: Codec,
): (readonly Value[])[] {
  return of.map(({ value }) => tasks.map((task) => value(task, codec)));
}

function proofMember(task: TaskRecord, codec: Codec): { readonly proof?: string } {
  const proof = proofOf(task, codec);
  return proof === null ? {} : { proof };
}

/** The columns of a task that `recordOf` needs. */
export const recordColumns = "task.id, task.record";

/** The record of a row that begins with `recordColumns`. Throws `task_unreadable` if the row is no valid record. */
export function recordOf([id, json]: Row, codec: Codec): TaskRecord {
  let task: unknown;
  try {
    task = typeof json === "string" ? JSON.parse(json) : undefined;
  } catch {
    task = undefined;
  }
  if (!isRecord(task) || toStored(task.id) !== id) throw unreadable(String(id), "its record is damaged");
  const { proof = null, ...record } = task;
  try {
    return openedRecord({ task: record, proof }, codec);
  } catch (error) {
    if (error instanceof DecryptionError) throw unreadable(task.id, error.message, error);
    throw error;
  }
}

function unreadable(id: string, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${problem}.`, { cause });
}

/** If the parts that decisions depend on are valid, so is the rest: nothing else writes it. */
function isRecord(value: unknown): value is TaskRecord & { readonly proof?: string } {
  if (typeof value !== "object" || value === null) return false;
  const {
    id,
    state,
    version,
    createdAt,
    attempt,
    attempts,
    tool,
  }: Partial<Record<keyof TaskRecord, unknown>> = value;
  const isNamed = typeof id === "string" && typeof tool === "string" && typeof state === "string";
  return (
    isNamed &&
    Array.isArray(attempts) &&
    [version, createdAt, attempt].every((each) => Number.isSafeInteger(each))
  );
}

/** The maximum length that fits into an index. */
const longestId = 500;

/** The id of a task's request, as in `request`: 1 and "1" differ, and a long id is hashed. */
export function requestIdText(id: string | number): string {
  const json = JSON.stringify(id);
  return json.length <= longestId ? json : createHash("sha256").update(json).digest("hex");
}
