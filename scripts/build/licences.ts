import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { OutputChunk } from "rolldown";

/** Licences that only ask for their own text. */
export const permissive: ReadonlySet<unknown> = new Set([
  "MIT",
  "ISC",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "Apache-2.0",
]);

/** The bundler's own functions have no package of their own among those that are installed. */
const bundlersOwn = /^\0@oxc-project\+runtime@/;

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license?: unknown;
}

/** The names, versions, licences and notices of all packages in the bundle. Rejects if one has no permissive licence. */
export async function licencesOf(chunks: readonly OutputChunk[]): Promise<string> {
  const ids = chunks.flatMap(({ moduleIds }) => moduleIds);
  const folders = new Set(ids.flatMap((id) => folderOf(id)));
  const texts = await Promise.all([...folders].sort().map((folder) => licenceIn(folder)));
  const title = "These files contain code of the following packages, each under its own licence.";
  return `${[title, ...texts].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

function folderOf(id: string): readonly string[] {
  if (bundlersOwn.test(id)) return [join(import.meta.dirname, "../../node_modules/rolldown")];
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id) ?? [];
}

async function licenceIn(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(
    await readFile(join(folder, "package.json"), "utf8"),
  ) as Package;
  if (!permissive.has(license))
    throw new Error(`${name} is bundled, and its licence is ${JSON.stringify(license)}.`);
  const files = await readdir(folder);
  const file = files.find((each) => /^licen[cs]e(?:\.\w+)?$/i.test(each));
  if (file === undefined)
    throw new Error(`${name} is bundled, and ${dirname(folder)} has no text of its licence.`);
  // Apache-2.0 wants the notices of a package passed on too.
  const texts = [file, ...files.filter((each) => /^notice(?:\.\w+)?$/i.test(each))];
  const read = texts.map(async (each) => (await readFile(join(folder, each), "utf8")).trim());
  return `${name} ${version} (${String(license)})\n\n${(await Promise.all(read)).join("\n\n")}`;
}
