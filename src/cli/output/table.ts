import widthOf from "fast-string-truncated-width";
import { fit, sanitizeLine, sanitizeText } from "../terminal/text.ts";

/** Text in lines that fit beside an indent, broken at spaces if possible; unchanged for programs (`cells` is undefined). */
export function wrapped(text: string, indent: number, cells: number | undefined): string {
  const lines = sanitizeText(text).split("\n");
  const room = cells === undefined ? Infinity : Math.max(20, cells - 1 - indent);
  return lines
    .flatMap((line) => broken(line, room))
    .map((line) => `${" ".repeat(indent)}${line}`.trimEnd())
    .join("\n");
}

/** A line whose rows after the first one are indented. */
export function hanging(line: string, indent: number, cells: number | undefined): string {
  const [first = ""] = wrapped(line, 0, cells).split("\n");
  const rest = sanitizeText(line).slice(first.length).trimStart();
  return rest === "" ? `${first}\n` : `${first}\n${wrapped(rest, indent, cells)}\n`;
}

/**
 * A line for people, broken between its words. An indented line contains something to copy, a command or an address, and is not broken;
 * neither is a word that is longer than a row.
 */
export function wrappedNote(text: string, cells: number): string {
  const room = Math.max(20, cells - 1);
  return text
    .split("\n")
    .flatMap((line) => (line.startsWith(" ") || widthOf(line).width <= room ? [line] : filled(line, room)))
    .join("\n");
}

function filled(line: string, room: number): readonly string[] {
  const lines: string[] = [];
  let row = "";
  for (const word of line.split(" ")) {
    const longer = row === "" ? word : `${row} ${word}`;
    if (row !== "" && widthOf(longer).width > room) {
      lines.push(row);
      row = word;
    } else row = longer;
  }
  return [...lines, row];
}

function broken(line: string, room: number): readonly string[] {
  const lines: string[] = [];
  for (let rest = line; ;) {
    if (widthOf(rest).width <= room) return [...lines, rest];
    const start = fit(rest, room + 1, true).replace(/…$/, "");
    // Leading spaces are the line's indent.
    const indent = start.length - start.trimStart().length;
    const space = rest.startsWith(" ", start.length) ? start.length : start.lastIndexOf(" ");
    const at = space > indent ? space : Math.max(1, start.length);
    lines.push(rest.slice(0, at));
    rest = rest.slice(at).trimStart();
  }
}

/** Formats rows: aligned columns for people, tab-separated cells for programs. */
export function table(rows: readonly (readonly string[])[], isForPeople: boolean): string {
  const cells = rows.map((row) => row.map((cell) => sanitizeLine(cell)));
  const widths: number[] = [];
  for (const row of cells)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  const line = (row: readonly string[]): string =>
    isForPeople
      ? row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join("  ")
          .trimEnd()
      : row.join("\t");
  return cells.map((row) => `${line(row)}\n`).join("");
}

/** A column of a table that fits the width of a terminal. */
export interface Column {
  readonly title: string;
  /** Its minimum width in cells, on a terminal too narrow for its contents. */
  readonly least: number;
  /** Numbers are aligned to the right. */
  readonly isNumber?: true;
}

const gap = 2;

/**
 * Rows under their titles, none wider than the terminal: the last column is cut first, then the widest. For programs (`cells` is
 * undefined) tab-separated, uncut and without titles.
 */
export function fittedTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  cells: number | undefined,
): string {
  if (cells === undefined) return table(rows, false);
  const clean = [
    columns.map(({ title }) => title),
    ...rows.map((row) => row.map((text) => sanitizeLine(text))),
  ];
  const widths = columns.map((_, at) => widest(clean.map((row) => row[at] ?? "")));
  shrink(widths, columns, cells - 1 - gap * (columns.length - 1));
  return clean.map((row) => `${fittedRow(row, columns, widths)}\n`).join("");
}

/** The width of the widest text. There may be more texts than a function takes arguments. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, widthOf(text).width), 0);
}

function shrink(widths: number[], columns: readonly Column[], room: number): void {
  const last = widths.length - 1;
  for (;;) {
    const excess = widths.reduce((sum, width) => sum + width, 0) - room;
    if (excess <= 0) return;
    const can = (at: number): number => (widths[at] ?? 0) - (columns[at]?.least ?? 0);
    const others = [...widths.keys()].filter((at) => can(at) > 0);
    const at = can(last) > 0 ? last : others.sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
    if (at === undefined) return;
    widths[at] = (widths[at] ?? 0) - (at === last ? Math.min(excess, can(at)) : 1);
  }
}

function fittedRow(row: readonly string[], columns: readonly Column[], widths: readonly number[]): string {
  return row
    .map((text, at) => {
      const cell = fit(text, widths[at] ?? 0, true);
      const rest = " ".repeat(Math.max(0, (widths[at] ?? 0) - widthOf(cell).width));
      return columns[at]?.isNumber === true ? `${rest}${cell}` : `${cell}${rest}`;
    })
    .join(" ".repeat(gap))
    .trimEnd();
}

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
