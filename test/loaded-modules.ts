import { execFile } from "node:child_process";
import { promisify } from "node:util";

const record = `
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      loaded.push(resolved.url);
      return resolved;
    },
  });
`;

/** The URLs of all modules that a process loads which runs this code. */
export async function loadedModules(code: string, env: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  const program = `${record}${code}\nprocess.on("exit", () => process.stdout.write("\\n" + JSON.stringify(loaded)));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    env,
  });
  return JSON.parse(stdout.slice(stdout.lastIndexOf("\n") + 1)) as string[];
}
