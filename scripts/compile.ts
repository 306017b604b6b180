import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { bundleSources, dist, entryNames } from "./build/bundle.ts";

// What tests, examples and benchmarks run. Declarations take a compiler much longer, so here they are those of the sources.
await Promise.all([
  bundleSources(),
  build({ configFile: fileURLToPath(new URL("../dashboard/vite.config.ts", import.meta.url)) }),
]);
for (const name of await entryNames())
  await writeFile(`${dist}${name}.d.ts`, `export * from "../src/${name}.ts";\n`);
