import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { OutputChunk } from "rolldown";

/** Licences that only ask for their own text. */
const permissive: ReadonlySet<unknown> = new Set([
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

/** The names, versions and licences of all packages in the bundle. Rejects if one has no permissive licence. */
export async function licencesOf(chunks: readonly OutputChunk[]): Promise<string> {
  const ids = chunks.flatMap(({ moduleIds }) => moduleIds);
  const folders = new Set(ids.flatMap((id) => folderOf(id)));
  const texts = await Promise.all([...folders].sort().map((folder) => licenceIn(folder)));
  const title = "The files of this folder contain code of these packages, each under its own licence.";
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
  const file = (await readdir(folder)).find((each) => /^licen[cs]e(?:\.\w+)?$/i.test(each));
  if (file === undefined)
    throw new Error(`${name} is bundled, and ${dirname(folder)} has no text of its licence.`);
  return `${name} ${version} (${String(license)})\n\n${(await readFile(join(folder, file), "utf8")).trim()}`;
}
