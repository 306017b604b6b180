import { writeFile } from "node:fs/promises";
import type { OutputChunk, RolldownOutput } from "rolldown";
import { build } from "vite";
import { bundleSources, dist, root } from "./bundle.ts";
import { licencesOf } from "./licences.ts";

/** Makes all of `dist` but the declarations: the bundle with its licences, and the dashboard. */
export async function buildScripts(): Promise<void> {
  const [chunks, page] = await Promise.all([bundleSources(), buildPage()]);
  await writeFile(`${dist}THIRD-PARTY-LICENSES.txt`, await licencesOf([...chunks, ...page]));
}

async function buildPage(): Promise<readonly OutputChunk[]> {
  // Of one page, built once, it is this one of the types that Vite may return.
  const { output } = (await build({ configFile: `${root}dashboard/vite.config.ts` })) as RolldownOutput;
  return output.filter((file): file is OutputChunk => file.type === "chunk");
}
