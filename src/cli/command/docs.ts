import widthOf from "fast-string-truncated-width";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { wrapped } from "../output/table.ts";
import { nearest } from "../arguments/words.ts";
import type { Context } from "../context.ts";
import { type ExitCode, UsageError } from "../errors.ts";
import type { DocsJson, TopicsJson } from "../output/json-shapes.ts";
import { packageRoot } from "../io.ts";

/** A part of a page: from a heading to the next. */
interface Section {
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

/** The parts of the documentation, in the order to read them. */
const parts = ["learn", "recipes", "operate", "reference", "internals", "api"];

/** Pages that the build makes of the declarations: they are not in a checkout until then. */
const made = "dist/docs/";

/** A page of the documentation, without what stands above its title. */
export interface Page {
  readonly topic: string;
  readonly part: string;
  readonly title: string;
  /** Below the package's root. */
  readonly path: string;
  readonly text: string;
  readonly sections: readonly Section[];
}

/** `holdfast docs [TOPIC]`: prints a page of the documentation, the sections with a heading such as an error code, or the section that says most about words. */
export async function docs(
  context: Context,
  { words }: { readonly words: readonly string[] },
): Promise<ExitCode> {
  const pages = await readPages();
  const wanted = words.join(" ").trim();
  if (wanted === "") return listTopics(context, pages);
  if (wanted.toLowerCase() === "agents.md")
    return show(context, wanted, await readFile(new URL("templates/project/AGENTS.md", packageRoot), "utf8"));
  const slug = sluggish(wanted);
  const all = pages.flatMap((page) => page.sections.map((section) => ({ page, section })));
  const named = all.filter(({ section }) => sluggish(section.heading) === slug);
  const page = pages.find(({ topic }) => topic === slug);
  // An error names the entry of its code. With ".md" the page is meant.
  const codes = named.filter((each) => each.page.topic === "errors" && each.section.level > 1);
  if (page !== undefined && (codes.length === 0 || /\.md$/i.test(wanted)))
    return show(context, page.topic, page.text);
  if (page !== undefined)
    context.output.note(`There is a page of this name, too:\n  holdfast docs ${slug}.md`);
  if (named.length > 0) {
    const text = (codes.length > 0 ? codes : named)
      .map(({ page: of, section }) => withParts(of.sections, section))
      .join("\n");
    return show(context, wanted, text);
  }
  const [first, ...others] = search(all, wanted);
  if (first === undefined) throw new UsageError(nothingAbout(pages, wanted));
  const more = others.map(({ page: { topic }, section: { heading } }) => `- ${topic}: ${heading}`);
  const list =
    more.length === 0
      ? ""
      : `\nOther sections, which \`holdfast docs HEADING\` prints:\n\n${more.join("\n")}\n`;
  return show(context, wanted, `From the page \`${first.page.topic}\`:\n\n${first.section.text}${list}`);
}

async function listTopics({ output }: Context, pages: readonly Page[]): Promise<ExitCode> {
  const topics = pages.map(({ topic, part, title }) => ({ topic, part, title }));
  const width = Math.max(...pages.map(({ topic }) => topic.length));
  const listed = parts.flatMap((part) => {
    const of = pages.filter((page) => page.part === part);
    if (of.length === 0) return [];
    return [`${titleOf(part)}:`, ...of.map(({ topic, title }) => `  ${topic.padEnd(width)}  ${title}`), ""];
  });
  return output.say({
    json: { topics } satisfies TopicsJson,
    text: `${listed.join("\n")}\nholdfast docs TOPIC prints a page, holdfast docs CODE what an error code means, and\nholdfast docs WORDS searches all pages. holdfast docs AGENTS.md prints rules for\ncoding agents, to keep in your project.\n`,
  });
}

async function show({ io, output }: Context, topic: string, text: string): Promise<ExitCode> {
  const { columns } = output;
  const shown = columns === undefined ? text : markdownText(text, Math.min(columns, 100));
  const { rows } = io.stdout;
  const isLong =
    !output.json && columns !== undefined && rows !== undefined && shown.split("\n").length > rows;
  const isPaged = isLong && (await paged(io.env["PAGER"] ?? "less -FRX", shown));
  return output.say({ json: { topic, text } satisfies DocsJson, text: isPaged ? "" : shown });
}

/** Shows a text in the user's pager; false if there is none. */
async function paged(pager: string, text: string): Promise<boolean> {
  const child = spawn(pager, { shell: true, stdio: ["pipe", "inherit", "ignore"] });
  // A pager that the user leaves before the end reads no more.
  child.stdin.on("error", () => undefined);
  child.stdin.end(text);
  const [code] = (await once(child, "close")) as [number | null];
  return code === 0;
}

/** The pages in the package, by part. */
export async function readPages(): Promise<readonly Page[]> {
  const read = parts.map(async (part) => {
    const place = `${part === "api" ? made : "docs/"}${part}/`;
    const folder = new URL(place, packageRoot);
    const names = await readdir(folder, { recursive: true }).catch(() => []);
    const files = names.filter((name) => name.endsWith(".md") && !name.startsWith("decisions"));
    return Promise.all(
      files.toSorted().map(async (name) => {
        const text = (await readFile(new URL(name, folder), "utf8")).replace(/^<!--[^]*?-->\s*/, "");
        const sections = sectionsOf(text);
        const topic = basename(name.replace(/[\\/]index\.md$/, ".md"), ".md");
        return { topic, part, title: sections[0]?.heading ?? topic, path: `${place}${name}`, text, sections };
      }),
    );
  });
  return (await Promise.all(read)).flat();
}

/** The heading of a part in a list. */
export function titleOf(part: string): string {
  return part === "api" ? "API" : `${part.slice(0, 1).toUpperCase()}${part.slice(1)}`;
}

interface Found {
  readonly page: Page;
  readonly section: Section;
}

const mostFound = 10;

/** The sections about these words, the best first: by how often a section has them, and how few others do (BM25). */
function search(all: readonly Found[], wanted: string): readonly Found[] {
  const averageLength = all.reduce((sum, { section }) => sum + section.text.length, 0) / all.length;
  const scores = new Map<Found, number>();
  const words = wanted.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  for (const word of new Set(words.map((each) => each.replace(/(?<=...)s$/, "")))) {
    // A short word is all of one: "do" is not the beginning of "document".
    const end = word.length > 3 ? "" : String.raw`(?![\p{L}\p{N}])`;
    const pattern = new RegExp(String.raw`(?<![\p{L}\p{N}])${word}${end}`, "giu");
    const times = (text: string): number => text.match(pattern)?.length ?? 0;
    const having = all.flatMap((found) => {
      const { page, section } = found;
      const count =
        times(section.text.replace(/^```[^]*?^```$/gm, "")) + 4 * times(section.heading) + times(page.title);
      return count === 0 ? [] : [{ found, count }];
    });
    const rarity = Math.log(all.length / having.length);
    for (const { found, count } of having) {
      const length = found.section.text.length / averageLength;
      const weight = (rarity * count) / (count + 0.3 + 0.9 * length);
      scores.set(found, (scores.get(found) ?? 0) + weight);
    }
  }
  const rank = (found: Found): number =>
    (scores.get(found) ?? 0) * (found.page.part === "api" || found.page.part === "internals" ? 0.5 : 1);
  const ranked = [...scores.keys()].toSorted((a, b) => rank(b) - rank(a)).slice(0, mostFound);
  const [best] = ranked;
  return best === undefined ? [] : ranked.filter((found) => rank(found) >= rank(best) / 2);
}

/** A section with those below it. */
function withParts(sections: readonly Section[], section: Section): string {
  const at = sections.indexOf(section);
  const next = sections.findIndex(({ level }, index) => index > at && level <= section.level);
  return sections
    .slice(at, next === -1 ? sections.length : next)
    .map(({ text }) => text)
    .join("\n");
}

function sluggish(text: string): string {
  return text.toLowerCase().replace(/\.md$/, "").replace(/\s+/g, "-");
}

function nothingAbout(pages: readonly Page[], wanted: string): string {
  const names = pages.flatMap(({ topic, sections }) => [topic, ...sections.map(({ heading }) => heading)]);
  const near = nearest(wanted, names);
  const tip = near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`;
  return `The documentation has nothing about ${JSON.stringify(wanted)}.${tip} To list the pages:\n  holdfast docs`;
}
