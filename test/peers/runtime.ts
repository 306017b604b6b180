import { fileURLToPath } from "node:url";

/** A runtime beside Node, at the version that `runtimes/package.json` pins. */
export type RuntimeName = "Bun" | "Deno";

/** How a program is run, before its file and its arguments. */
export type Runner = readonly [command: string, ...args: readonly string[]];

export const inNode: Runner = [process.execPath];

/** The binary itself, of the package of this platform: a program between would survive the signals of a test. */
export function runnerOf(name: RuntimeName): Runner {
  const { platform, arch } = process;
  if (name === "Bun")
    return [installed(`@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}/bin/bun`)];
  const libc = platform === "linux" ? "-glibc" : "";
  return [installed(`@deno/${platform}-${arch}${libc}/deno`), "run", "--allow-all", "--quiet"];
}

function installed(path: string): string {
  return fileURLToPath(new URL(`./runtimes/node_modules/${path}`, import.meta.url));
}
