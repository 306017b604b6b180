import type { LineList, TaskLine } from "../task/task-line.ts";
import { columnsOf, integer, oneOf, text, time, type Row } from "./row.ts";
import { encryptedText, isSealed } from "../task/stored-text.ts";
import type { Codec, Place } from "./codec.ts";
import { toStored } from "./stored-text.ts";

/** The columns of `line`, besides the task's id. */
export const lineColumns = ["list", "seq", "at", "step", "place", "body"] as const;

const lists: Readonly<Record<LineList, true>> = { log: true, output: true };

const at = columnsOf(lineColumns);

const placeOf = (of: string, list: LineList, seq: number): Place => ({
  table: "line",
  column: "body",
  of,
  key: `${list} ${seq}`,
});

/** The values for `lineColumns` of a line of the task `of`. */
export function lineRowOf(
  of: string,
  { list, seq, at: appendedAt, step, place, body }: TaskLine,
  codec: Codec,
): [string, number, number, string, number, string] {
  const sealed = codec.seal(body, placeOf(of, list, seq));
  return [list, seq, appendedAt, toStored(step), place, toStored(sealed)];
}

/** The line of the task `of` in a row of `lineColumns`. Throws if it is damaged. */
export function lineOf(of: string, row: Row, codec: Codec): TaskLine {
  const list = oneOf(row, at.list, lists);
  const seq = integer(row, at.seq);
  return {
    list,
    seq,
    at: time(row, at.at),
    step: text(row, at.step),
    place: integer(row, at.place),
    body: shown(codec.open(text(row, at.body), placeOf(of, list, seq)), list),
  };
}

/** Operators without keys see that there is a line. */
function shown(body: string, list: LineList): string {
  if (!isSealed(body)) return body;
  return JSON.stringify(
    list === "log" ? { level: "info", text: encryptedText } : { type: "text", text: encryptedText },
  );
}
