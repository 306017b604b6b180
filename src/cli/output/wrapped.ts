import widthOf from "fast-string-truncated-width";
import { sanitizeText } from "../terminal/sanitize.ts";
import { fit } from "../terminal/status-line.ts";

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
