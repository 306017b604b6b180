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
  changing("record", (task, codec) => JSON.stringify(sealedRecord(task, codec))),
  fixed("proof", proofOf),
];

/** For `unnest`: the values of all records, by column. */
export function arraysOf(
  of: readonly TaskColumn[],
  tasks: readonly TaskRecord[],
  codec: Codec,
): (readonly Value[])[] {
  return of.map(({ value }) => tasks.map((task) => value(task, codec)));
}

/** The columns of a task that `recordOf` needs. */
export const recordColumns = `task.id, ${storedRecord("task")}`;

/**
 * The record in the table `task`. Of an encrypted one, after the proof, a line with what statements search by: whoever changes these
 * columns alone would show the task to others.
 */
export function storedRecord(task: string): string {
  const searched = ["principal", "scope", "tool"].map((column) => `${task}.${column}`).join(", ");
  return `CASE WHEN ${task}.proof IS NULL THEN ${task}.record
    ELSE ${task}.proof || E'\\n' || json_build_array(${searched})::text || E'\\n' || ${task}.record END`;
}

/** The record of a row that begins with `recordColumns`. Throws `task_unreadable` if the row is no valid record. */
export function recordOf([id, whole]: Row, codec: Codec): TaskRecord {
  const { proof, searched, json } = partsOf(String(whole));
  const task = parsed(json);
  if (!isRecord(task) || toStored(task.id) !== id) throw unreadable(String(id), "its record is damaged");
  try {
    if (searched !== null && !isSame(parsed(searched), task))
      throw new DecryptionError("its row was changed");
    return openedRecord({ task, proof }, codec);
  } catch (error) {
    if (error instanceof DecryptionError) throw unreadable(task.id, error.message, error);
    throw error;
  }
}

interface Parts {
  readonly proof: string | null;
  readonly searched: string | null;
  readonly json: string;
}

/** JSON has no line breaks. */
function partsOf(whole: string): Parts {
  const [proof = "", searched = "", json] = whole.split("\n");
  return json === undefined ? { proof: null, searched: null, json: whole } : { proof, searched, json };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isSame(searched: unknown, task: TaskRecord): boolean {
  const { principal, scope, tool } = task;
  return JSON.stringify(searched) === JSON.stringify([stored(principal), toStored(scope), toStored(tool)]);
}

function unreadable(id: string, problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("task_unreadable", `Task ${id} cannot be read: ${problem}.`, { cause });
}

/** If the parts that decisions depend on are valid, so is the rest: nothing else writes it. */
function isRecord(value: unknown): value is TaskRecord {
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
