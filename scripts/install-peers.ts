// Installs other people's clients, servers and benchmarks, whose packages the slow suites need: npm run install:peers
import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const folders = ["test/peers/clients", "test/peers/runtimes", "bench/peers"];

async function writtenAt(path: URL): Promise<number> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: 0 }));
  return mtimeMs;
}

for (const folder of folders) {
  const url = new URL(`../${folder}/`, import.meta.url);
  // npm writes this file at the end of an installation.
  const installedAt = await writtenAt(new URL("node_modules/.package-lock.json", url));
  if (installedAt > (await writtenAt(new URL("package-lock.json", url)))) continue;
  await promisify(execFile)("npm", ["ci", "--silent", "--prefix", fileURLToPath(url)]);
}
