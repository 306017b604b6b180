import { childInputKey, type InputRequest } from "../../task/journal.ts";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskRecord, TaskSnapshot } from "../../task/record.ts";
import { inputMethodOf } from "../journal-row.ts";
import { columnsOf, isNull, text, textOrNull, type Row } from "../row.ts";
import { recordIfReadable } from "./read-task.ts";
import { recordOf } from "./task-row.ts";

const at = columnsOf(["id", "record", "body", "asker", "key", "method", "request", "asker_record"]);

/** The task of the rows that `snapshot` selects; undefined if it is not visible: then the rest is not read. */
export function snapshotOf(
  first: Row,
  rows: readonly Row[],
  isVisible: (task: TaskRecord) => boolean,
): TaskSnapshot | undefined {
  const task = recordOf(first);
  if (!isVisible(task)) return undefined;
  return { task, inputs: task.openInputs === 0 ? [] : inputsOf(rows), outcome: outcomeOf(task, first) };
}

function outcomeOf({ outcomeKind: kind }: TaskRecord, row: Row): Outcome | null {
  if (kind === null) return null;
  if (isNull(row, at.body)) throw new Error("The outcome of this finished task is missing.");
  return { kind, body: text(row, at.body) };
}

function inputsOf(rows: readonly Row[]): InputRequest[] {
  return rows.flatMap((row) => {
    if (isNull(row, at.key)) return [];
    if (isNull(row, at.asker)) return inputOf(row, text(row, at.key));
    // If the asking task is unreadable, it is unknown which scopes an answer needs, and it could not accept one.
    const asker = recordIfReadable([row[at.asker.place] ?? null, row[at.asker_record.place] ?? null]);
    if (asker === undefined || asker.openInputs === 0) return [];
    const input = inputOf(row, childInputKey({ taskId: asker.id, key: text(row, at.key) }));
    const { requiredScopes } = asker;
    return requiredScopes.length > 0 ? { ...input, requiredScopes } : input;
  });
}

function inputOf(row: Row, key: string): InputRequest {
  return { key, method: inputMethodOf(row, at.method), params: textOrNull(row, at.request) ?? "{}" };
}
