import { rm } from "node:fs/promises";
import { dist } from "./build/bundle.ts";
import { bundleDeclarations } from "./build/declarations.ts";
import { writePages } from "./build/pages.ts";
import { buildScripts } from "./build/scripts.ts";

// All of `dist`, as it is packed.
await rm(dist, { recursive: true, force: true });
await Promise.all([buildScripts(), bundleDeclarations()]);
await writePages();
