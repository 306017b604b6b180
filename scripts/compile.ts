import { writeFile } from "node:fs/promises";
import { dist, entryNames } from "./build/bundle.ts";
import { buildScripts } from "./build/scripts.ts";

// What tests, examples and benchmarks run. Declarations take a compiler much longer, so here they are those of the sources.
await buildScripts();
for (const name of await entryNames())
  await writeFile(`${dist}${name}.d.ts`, `export * from "../src/${name}.ts";\n`);
