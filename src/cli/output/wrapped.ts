import widthOf from "fast-string-truncated-width";
import { sanitizeText } from "../terminal/sanitize.ts";
import { fit } from "../terminal/status-line.ts";

/** Text in lines that fit behind an indent, broken at spaces where that is possible; for programs (`cells` is undefined) as it is. */
export function wrapped(text: string, indent: number, cells: number | undefined): string {
  const lines = sanitizeText(text).split("\n");
  const room = cells === undefined ? Infinity : Math.max(20, cells - 1 - indent);
  return lines
    .flatMap((line) => broken(line, room))
    .map((line) => `${" ".repeat(indent)}${line}`.trimEnd())
    .join("\n");
}

function broken(line: string, room: number): readonly string[] {
  const lines: string[] = [];
  for (let rest = line; ;) {
    if (widthOf(rest).width <= room) return [...lines, rest];
    const start = fit(rest, room + 1, true).replace(/…$/, "");
    // The spaces that a line begins with are its indent.
    const indent = start.length - start.trimStart().length;
    const space = rest.startsWith(" ", start.length) ? start.length : start.lastIndexOf(" ");
    const at = space > indent ? space : Math.max(1, start.length);
    lines.push(rest.slice(0, at));
    rest = rest.slice(at).trimStart();
  }
}
