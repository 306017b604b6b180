import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import type { Plugin } from "vitest/config";

const source = fileURLToPath(new URL("../src/store/sqlite/writer-worker.ts", import.meta.url));
const folder = fileURLToPath(new URL("../node_modules/.cache/writer/", import.meta.url));

/**
 * Gives the SQLite stores of tests their thread as one file, as the package does: a thread that loads a hundred sources takes twice the time to start, and
 * tests open more than a thousand stores.
 */
export async function bundledWriter(): Promise<Plugin> {
  const file = pathToFileURL(await bundle()).href;
  return {
    name: "bundled-writer",
    transform(code, id) {
      if (!id.endsWith("/src/store/sqlite/writer.ts")) return;
      const pattern = /new URL\("\.\/writer-worker\.ts", import\.meta\.url\)/;
      if (!pattern.test(code))
        throw new Error(`${id} starts its thread in another way than test/bundled-writer.ts knows.`);
      return code.replace(pattern, `new URL(${JSON.stringify(file)})`);
    },
  };
}

async function bundle(): Promise<string> {
  const build = await rolldown({ input: source, platform: "node", external: /^node:/ });
  const { output } = await build.generate();
  await build.close();
  const [{ code }] = output;
  // Always the same name: Vitest keeps what a transform made of a source, and looks only whether the source has changed.
  const path = `${folder}writer-worker.mjs`;
  // Whole at once: another run or project may start with the same file.
  const unfinished = `${path}.${randomUUID()}`;
  await mkdir(folder, { recursive: true });
  await writeFile(unfinished, code);
  await rename(unfinished, path);
  return path;
}
