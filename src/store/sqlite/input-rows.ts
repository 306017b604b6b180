import { childInputKey, type InputRequest } from "../../task/journal.ts";
import { inputMethodOf } from "../journal-row.ts";
import { taskColumns, words } from "./record-row.ts";
import { columnsOf, isNull, text, textOrNull, type Row } from "../row.ts";

const inputAt = columnsOf([...taskColumns, "input_key", "input_method", "input_params"]);
const childInputAt = columnsOf(["task_id", "input_key", "input_method", "input_params", "input_scopes"]);

/** The open questions of a task, from rows of the task joined with them. */
export function inputsOf(rows: readonly Row[]): InputRequest[] {
  return rows
    .filter((row) => !isNull(row, inputAt.input_key))
    .map((row) => ({
      key: text(row, inputAt.input_key),
      method: inputMethodOf(row, inputAt.input_method),
      params: textOrNull(row, inputAt.input_params) ?? "{}",
    }));
}

/** The open questions of the tasks below it. */
export function childInputsOf(rows: readonly Row[]): InputRequest[] {
  return rows.map((row) => {
    const requiredScopes = words(text(row, childInputAt.input_scopes));
    return {
      key: childInputKey({ taskId: text(row, childInputAt.task_id), key: text(row, childInputAt.input_key) }),
      method: inputMethodOf(row, childInputAt.input_method),
      params: textOrNull(row, childInputAt.input_params) ?? "{}",
      ...(requiredScopes.length > 0 && { requiredScopes }),
    };
  });
}
