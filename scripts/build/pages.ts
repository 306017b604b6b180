import { mkdir, readFile, writeFile } from "node:fs/promises";
import { readPages, titleOf } from "../../src/cli/command/docs.ts";
import { dist, root } from "./bundle.ts";
import { publicApi, type Declared } from "./public-api.ts";

/** Writes the pages that come from declarations, and the documentation for models, as they are packed. */
export async function writePages(): Promise<void> {
  await mkdir(`${dist}docs/api`, { recursive: true });
  for (const { name, text } of await apiPages()) await writeFile(`${dist}docs/api/${name}`, text);
  const { index, full } = await llmsTexts((path) => `../${path}`);
  await writeFile(`${dist}llms.txt`, index);
  await writeFile(`${dist}llms-full.txt`, full);
}

/** In characters. */
const longTypes = 20_000;

interface ApiPage {
  readonly name: string;
  readonly text: string;
}

/** A page for each entry of the package: its exports, with what their doc comments say. Many types that only these need have a page of their own. */
export async function apiPages(): Promise<readonly ApiPage[]> {
  return (await publicApi()).flatMap(({ entry, exports, inner }) => {
    const own = exports.filter(({ home }) => home === entry);
    const others = exports.filter(({ home }) => home !== entry);
    const values = exports.filter(({ text }) => /^declare (?:function|class|const)/.test(text));
    const named = values.map(({ name }) => `\`${name}\``).join(", ");
    const blocks = [
      `# ${entry}`,
      named === "" ? "Exports types alone." : `Exports ${named}, and types.`,
      ...own.map((each) => section(each, "##")),
      ...[...Map.groupBy(others, ({ home }) => home)].map(
        ([home, of]) => `## Also in ${home}\n\n${of.map(({ name }) => `\`${name}\``).join(", ")}`,
      ),
    ];
    const name = entry.replace("/", "-");
    const types = inner.map((each) => section(each, "##")).join("\n\n");
    const isLong = types.length > longTypes;
    if (types !== "" && !isLong) blocks.push("## Types without an export", types.replace(/^## /gm, "### "));
    const page = { name: `${name}.md`, text: `${blocks.join("\n\n")}\n` };
    const title = `# ${entry}: types without an export`;
    return isLong ? [page, { name: `${name}-types.md`, text: `${title}\n\n${types}\n` }] : [page];
  });
}

function section({ name, comment, source }: Declared, level: string): string {
  const said = comment === "" ? [] : [comment];
  return [`${level} ${name}`, ...said, `\`\`\`ts\n${source}\n\`\`\``].join("\n\n");
}

/** `llms.txt`, which lists the pages with what each is about, and `llms-full.txt`, which has those that people wrote for users in full. */
export async function llmsTexts(
  linkTo: (path: string) => string,
): Promise<{ readonly index: string; readonly full: string }> {
  const { description } = JSON.parse(await readFile(`${root}package.json`, "utf8")) as {
    readonly description: string;
  };
  const pages = await readPages();
  const lists = [...Map.groupBy(pages, ({ part }) => part)].map(([part, of]) => {
    const lines = of.map(({ path, title, text }) => `- [${title}](${linkTo(path)})${about(text)}`);
    return `## ${titleOf(part)}\n\n${lines.join("\n")}`;
  });
  const forUsers = pages.filter(({ part }) => part !== "internals" && part !== "api");
  const head = `# Holdfast\n\n> ${description}`;
  return {
    index: `${[head, ...lists].join("\n\n")}\n`,
    full: `${[head, ...forUsers.map(({ text }) => text.trim())].join("\n\n")}\n`,
  };
}

/** The first sentence below the title, without links, behind a colon; nothing of a page that has only a table. */
function about(text: string): string {
  const prose = text.replace(/^```[^]*?^```$/gm, "");
  const first = prose.split(/\n{2,}/).find((block) => /^[A-Za-z`*[]/.test(block)) ?? "";
  const line = first.replace(/\s+/g, " ").replace(/\[([^\]]+)\]\([^)]+\)/g, "$1");
  const sentence = /^.*?[.:](?= |$)/.exec(line)?.[0].replace(/:$/, ".") ?? line;
  return sentence === "" ? "" : `: ${sentence}`;
}
