import { readFile, writeFile } from "node:fs/promises";
import type { OutputChunk, RolldownOutput } from "rolldown";
import { build } from "vite";
import { bundleSources, dist, root } from "./bundle.ts";
import { licencesOf } from "./licences.ts";

/** Makes all of `dist` but the declarations: the bundle and the dashboard, each with its licences. */
export async function buildScripts(): Promise<void> {
  const [chunks, page] = await Promise.all([bundleSources(), buildPage()]);
  await writeFile(`${dist}THIRD-PARTY-LICENSES.txt`, await licencesOf([...chunks, ...page]));
}

async function buildPage(): Promise<readonly OutputChunk[]> {
  // Of one page, built once, it is this one of the types that Vite may return.
  const { output } = (await build({ configFile: `${root}dashboard/vite.config.ts` })) as RolldownOutput;
  const chunks = output.filter((file): file is OutputChunk => file.type === "chunk");
  // A browser gets the script alone, and the licences ask to be in every copy.
  const script = `${dist}dashboard/app.js`;
  const licences = (await licencesOf(chunks)).replaceAll("*/", "* /");
  await writeFile(script, `/*!\n${licences}*/\n${await readFile(script, "utf8")}`);
  return chunks;
}
