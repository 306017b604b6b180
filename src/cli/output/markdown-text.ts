import widthOf from "fast-string-truncated-width";
import { wrapped } from "./wrapped.ts";

/** A part of a page: from a heading to the next. */
export interface Section {
  /** 1 for the title of the page. */
  readonly level: number;
  readonly heading: string;
  /** With the line of the heading. */
  readonly text: string;
}

/** The sections of a page of Markdown, in order. */
export function sectionsOf(page: string): readonly Section[] {
  const sections: { level: number; heading: string; lines: string[] }[] = [];
  let isCode = false;
  for (const line of page.split("\n")) {
    if (line.trimStart().startsWith("```")) isCode = !isCode;
    const [, marks, heading] = (isCode ? undefined : /^(#{1,6}) (.+)$/.exec(line)) ?? [];
    if (marks !== undefined && heading !== undefined)
      sections.push({ level: marks.length, heading: inline(heading), lines: [line] });
    else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ lines, ...rest }) => ({ ...rest, text: `${lines.join("\n").trim()}\n` }));
}

/** Markdown as text for a terminal of so many cells: paragraphs are filled, and tables, which are wider, become lists. */
export function markdownText(markdown: string, cells: number): string {
  const blocks: string[] = [];
  let isCode = false;
  let paragraph: string[] = [];
  let header: readonly string[] | undefined;
  const end = (): void => {
    if (paragraph.length > 0) blocks.push(`${filled(paragraph.join(" "), cells)}\n`);
    if (header !== undefined) blocks.push("");
    paragraph = [];
    header = undefined;
  };
  for (const line of markdown.replace(/<!--[^]*?-->\n*/g, "").split("\n")) {
    if (line.trimStart().startsWith("```")) {
      end();
      isCode = !isCode;
      if (!isCode) blocks.push("");
    } else if (isCode) blocks.push(line === "" ? "" : `    ${line}`);
    else if (line.startsWith("|")) {
      const cellsOf = inline(line)
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll("\\|", "|"));
      if (header === undefined) {
        end();
        header = cellsOf;
      } else if (!cellsOf.every((cell) => /^:?-+:?$/.test(cell))) blocks.push(row(header, cellsOf, cells));
    } else if (/^#{1,6} /.test(line)) {
      end();
      const heading = inline(line.replace(/^#+ /, ""));
      const mark = line.startsWith("# ") ? "=" : line.startsWith("## ") ? "-" : "";
      blocks.push(mark === "" ? `${heading}\n` : `${heading}\n${mark.repeat(widthOf(heading).width)}\n`);
    } else if (line.trim() === "" || /^!\[|^<\/?\w/.test(line.trim())) end();
    else if (/^\s*(?:[-*]|\d+\.) /.test(line)) {
      // A list keeps its items together.
      if (paragraph.length > 0) blocks.push(filled(paragraph.join(" "), cells));
      paragraph = [line.trimEnd()];
    } else paragraph.push(paragraph.length === 0 ? line.trimEnd() : line.trim());
  }
  end();
  return `${blocks
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim()}\n`;
}

/** Without the marks of links, code and emphasis; addresses of other sites stay. */
function inline(text: string): string {
  return text
    .replace(/!\[[^\]]*\]\([^)]*\)/g, "")
    .replace(/\[([^\]]+)\]\((https?:[^)]+)\)/g, "$1 ($2)")
    .replace(/\[([^\]]+)\]\([^)]+\)/g, "$1")
    .replace(/\*\*([^*]+)\*\*/g, "$1")
    .replaceAll("`", "");
}

function filled(text: string, cells: number): string {
  const [, indent = "", mark = "", words = ""] = /^(\s*)((?:[-*]|\d+\.) )?([^]*)$/.exec(inline(text)) ?? [];
  const depth = indent.length + mark.length;
  return `${indent}${mark}${wrapped(words, depth, cells).slice(depth)}`;
}

/** A row of a table as an item of a list: its first cell, and below it the others with their titles. */
function row(header: readonly string[], [first = "", ...others]: readonly string[], cells: number): string {
  const lines = others.flatMap((cell, at) => {
    const title = header[at + 1] ?? "";
    return cell === "" ? [] : [wrapped(title === "" ? cell : `${title}: ${cell}`, 4, cells)];
  });
  return [wrapped(`- ${first}`, 0, cells), ...lines].join("\n");
}
