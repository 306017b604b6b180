import type { LineList, TaskLine } from "../task/task-line.ts";
import { columnsOf, integer, oneOf, text, time, type Row } from "./row.ts";
import type { ToStored } from "./stored-text.ts";

/** The columns of `line`, besides the task's id. */
export const lineColumns = ["list", "seq", "at", "step", "place", "body"] as const;

const lists: Readonly<Record<LineList, true>> = { log: true, output: true };

const at = columnsOf(lineColumns);

/** The values for `lineColumns`. */
export function lineRowOf(
  { list, seq, at: appendedAt, step, place, body }: TaskLine,
  toStored: ToStored,
): [string, number, number, string, number, string] {
  return [list, seq, appendedAt, toStored(step), place, toStored(body)];
}

/** The line of a row of `lineColumns`. Throws if it is damaged. */
export function lineOf(row: Row): TaskLine {
  return {
    list: oneOf(row, at.list, lists),
    seq: integer(row, at.seq),
    at: time(row, at.at),
    step: text(row, at.step),
    place: integer(row, at.place),
    body: text(row, at.body),
  };
}
