import { sanitizeLine } from "../terminal/sanitize.ts";

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
