// Writes the public API to api/*.api.txt, for the review of its changes: npm run docs:api. With --check it says what has changed, and fails.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { publicApi, type Declared, type EntryApi } from "./build/public-api.ts";

const folder = new URL("../api/", import.meta.url);

function textOf({ entry, exports, inner }: EntryApi): string {
  const shown = ({ home, name, text }: Declared): string =>
    home === entry ? text : `export { ${name} } from "${home}";`;
  const sections = [
    `// ${entry}`,
    ...exports.map(shown),
    ...(inner.length === 0 ? [] : ["// without an export"]),
    ...inner.map(shown),
  ];
  return `${sections.join("\n\n")}\n`;
}

function fileOf(entry: string): string {
  return `${entry.replace("/", "-")}.api.txt`;
}

const entries = await publicApi();
const undocumented = entries.flatMap(({ entry, exports }) =>
  exports
    .filter(({ home, comment }) => home === entry && comment === "")
    .map(({ name }) => `${entry}: ${name}`),
);
if (undocumented.length > 0)
  throw new Error(`These exports have no doc comment:\n  ${undocumented.join("\n  ")}`);
const made = new Map(entries.map((each) => [fileOf(each.entry), textOf(each)]));

if (process.argv.includes("--check")) {
  const names = new Set([...made.keys(), ...(await readdir(folder))]);
  const changed: string[] = [];
  for (const name of names) {
    const old = await readFile(new URL(name, folder), "utf8").catch(() => "");
    if (old !== (made.get(name) ?? "")) changed.push(name);
  }
  if (changed.length > 0)
    throw new Error(
      `The public API is not the one in api/${changed.join(", api/")}. If the change is wanted: npm run docs:api, and commit the files.`,
    );
} else {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  for (const [name, text] of made) await writeFile(new URL(name, folder), text);
}
