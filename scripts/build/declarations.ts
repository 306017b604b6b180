import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { dts } from "rolldown-plugin-dts";
import { dist, entryNames, root } from "./bundle.ts";

/** Writes one declaration file for each public entry, and those that they share. */
export async function bundleDeclarations(): Promise<void> {
  const compiled = await mkdtemp(join(tmpdir(), "holdfast-declarations-"));
  try {
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const project = join(root, "tsconfig.build.json");
    await promisify(execFile)(process.execPath, [tsc, "-p", project, "--outDir", compiled]);
    const names = (await entryNames()).filter((name) => name !== "cli");
    const build = await rolldown({
      input: Object.fromEntries(names.map((name) => [name, join(compiled, `${name}.d.ts`)])),
      external: (id) => !/^[./\0]/.test(id),
      // `tsc` has made the declarations, so the plugin's own generators do nothing.
      plugins: [dts({ dtsInput: true, generator: "oxc", tsconfig: false })],
      checks: { bundlerTimings: false },
      onLog: (level, { message }) => {
        if (level === "warn") throw new Error(message);
      },
    });
    await build.write({ dir: dist, chunkFileNames: "chunk-[name].d.ts" });
    await build.close();
  } finally {
    await rm(compiled, { recursive: true });
  }
}
