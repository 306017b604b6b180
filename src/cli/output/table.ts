import widthOf from "fast-string-truncated-width";
import { fit, sanitizeLine, sanitizeText, duration } from "../terminal/text.ts";

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

/** Cells for programs, separated by tabs. */
export function tabbed(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map((cell) => sanitizeLine(cell)).join("\t")}\n`).join("");
}

/** What a cell shows: nothing if there is no value. */
type Cell = string | number | false | null | undefined;

/** A column of a table: `least` is its minimum width in cells, on a terminal too narrow for its contents. */
export type Column<Row> = readonly [
  title: string,
  least: number,
  cell: (row: Row) => Cell,
  align?: "left" | "right",
];

const gap = 2;

/**
 * Rows under their titles, none wider than the terminal: the last column is cut first, then the widest. For programs (`cells` is
 * undefined) tab-separated, uncut and without titles.
 */
export function fittedTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  cells: number | undefined,
): string {
  const texts = rows.map((row) => columns.map(([, , cell]) => sanitizeLine(textOf(cell(row)))));
  if (cells === undefined) return tabbed(texts);
  const all = [columns.map(([title]) => title), ...texts];
  const widths = columns.map((_, at) => widest(all.map((row) => row[at] ?? "")));
  shrink(
    widths,
    columns.map(([, least]) => least),
    cells - 1 - gap * (columns.length - 1),
  );
  return all
    .map((row) => {
      const fitted = columns.map(([, , , align], at) => aligned(row[at] ?? "", widths[at] ?? 0, align));
      return `${fitted.join(" ".repeat(gap)).trimEnd()}\n`;
    })
    .join("");
}

function textOf(cell: Cell): string {
  return cell === false ? "" : String(cell ?? "");
}

/** The width of the widest text. There may be more texts than a function takes arguments. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, widthOf(text).width), 0);
}

function shrink(widths: number[], least: readonly number[], room: number): void {
  const last = widths.length - 1;
  for (;;) {
    const excess = widths.reduce((sum, width) => sum + width, 0) - room;
    if (excess <= 0) return;
    const can = (at: number): number => (widths[at] ?? 0) - (least[at] ?? 0);
    const others = [...widths.keys()].filter((at) => can(at) > 0);
    const at = can(last) > 0 ? last : others.sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
    if (at === undefined) return;
    widths[at] = (widths[at] ?? 0) - (at === last ? Math.min(excess, can(at)) : 1);
  }
}

function aligned(text: string, width: number, align: "left" | "right" = "left"): string {
  const cell = fit(text, width, true);
  const rest = " ".repeat(Math.max(0, width - widthOf(cell).width));
  return align === "right" ? `${rest}${cell}` : `${cell}${rest}`;
}

/** The indent of notes below their row. */
const noteIndent = 6;

/** A table whose last column is never cut: a note that does not fit beside its row goes below it. */
export function notedTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  cells: number | undefined,
): string {
  const last = columns.at(-1);
  if (cells === undefined || last === undefined) return fittedTable(columns, rows, cells);
  const [title, least, note] = last;
  const others = columns.slice(0, -1);
  const taken = widest(fittedTable(others, rows, cells).split("\n"));
  const below = rows.map((row) => {
    const text = textOf(note(row));
    return taken + widthOf(text).width + gap >= cells ? text : undefined;
  });
  const isBelow = new Set(rows.filter((_, at) => below[at] !== undefined));
  const beside: Column<Row> = [title, least, (row) => (isBelow.has(row) ? "" : note(row))];
  const [head = "", ...lines] = fittedTable([...others, beside], rows, cells)
    .trimEnd()
    .split("\n");
  const all = lines.map((line, at) => {
    const text = below[at];
    return text === undefined ? line : `${line}\n${wrapped(text, noteIndent, cells)}`;
  });
  return `${[head, ...all].join("\n")}\n`;
}

const units = ["KiB", "MiB", "GiB", "TiB"] as const;

/** A number of bytes for people: `512 bytes`, `1.5 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1] ?? ""}`;
}

/** `1 task`, `12 tasks` */
export function tasksText(count: number): string {
  return `${count} ${count === 1 ? "task" : "tasks"}`;
}

/** A time for people, to the second: `2026-11-23 14:05:09Z`. */
export function timeText(ms: number): string {
  if (!(Math.abs(ms) <= 8.64e15)) return "no limit";
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

/** A duration, with milliseconds below ten seconds: `0.25s`, `3m 05s`. */
export function spanText(ms: number): string {
  if (ms >= 10_000) return duration(ms);
  return `${Number((Math.max(0, ms) / 1_000).toFixed(ms < 1_000 ? 3 : 1))}s`;
}
