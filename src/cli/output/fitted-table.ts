import widthOf from "fast-string-truncated-width";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { fit } from "../terminal/status-line.ts";
import { table } from "./table.ts";

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
  return clean.map((row) => `${line(row, columns, widths)}\n`).join("");
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

function line(row: readonly string[], columns: readonly Column[], widths: readonly number[]): string {
  return row
    .map((text, at) => {
      const cell = fit(text, widths[at] ?? 0, true);
      const rest = " ".repeat(Math.max(0, (widths[at] ?? 0) - widthOf(cell).width));
      return columns[at]?.isNumber === true ? `${rest}${cell}` : `${cell}${rest}`;
    })
    .join(" ".repeat(gap))
    .trimEnd();
}
