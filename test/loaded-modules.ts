import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const record = `
  import { registerHooks } from "node:module";
  const loaded = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      loaded.add(resolved.url);
      return resolved;
    },
  });
`;

/** The URLs of all modules that a process loads which runs this code; for files of `dist`, those of the sources in them. */
export async function loadedModules(code: string, env: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  const program = `${record}${code}\nprocess.on("exit", () => process.stdout.write("\\n" + JSON.stringify([...loaded])));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    env,
  });
  const loaded = JSON.parse(stdout.slice(stdout.lastIndexOf("\n") + 1)) as string[];
  return (await Promise.all(loaded.map(sourcesOf))).flat();
}

async function sourcesOf(url: string): Promise<string[]> {
  const map = new URL(`${url}.map`);
  // A file that only exports from others has no map.
  if (!url.includes("/dist/") || url.includes("/node_modules/") || !existsSync(map)) return [url];
  const { sources } = JSON.parse(await readFile(map, "utf8")) as { sources: string[] };
  return sources.map((source) => new URL(source, url).href);
}
