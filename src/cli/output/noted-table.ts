import widthOf from "fast-string-truncated-width";
import { fittedTable, type Column } from "./fitted-table.ts";
import { wrapped } from "./wrapped.ts";

/** The indent of notes below their row. */
const noteIndent = 6;

/** A table whose last column is never cut: a note that does not fit beside its row goes below it. */
export function notedTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  cells: number | undefined,
): string {
  if (cells === undefined) return fittedTable(columns, rows, cells);
  const others = fittedTable(
    columns.slice(0, -1),
    rows.map((row) => row.slice(0, -1)),
    cells,
  );
  const taken = Math.max(...others.split("\n").map((line) => widthOf(line).width));
  const notes = rows.map((row) => row.at(-1) ?? "");
  const isBelow = notes.map((note) => taken + widthOf(note).width + 2 >= cells);
  const beside = rows.map((row, at) => [...row.slice(0, -1), isBelow[at] === true ? "" : (notes[at] ?? "")]);
  const [head = "", ...lines] = fittedTable(columns, beside, cells).trimEnd().split("\n");
  const all = lines.map((line, at) =>
    isBelow[at] === true ? `${line}\n${wrapped(notes[at] ?? "", noteIndent, cells)}` : line,
  );
  return `${[head, ...all].join("\n")}\n`;
}
