import { execFile } from "node:child_process";
import { cp, glob, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const cache = fileURLToPath(new URL("../../node_modules/.cache/pgbouncer/", import.meta.url));
/** Nobody waits longer for a registry that is not there. */
const patienceMs = 60_000;

/** How to run PgBouncer. */
export interface Installation {
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * The PgBouncer of this machine, or the package of its distribution, unpacked into a cache and copied to the folder, where
 * the user whom it runs as can read it. Rejects where there is neither.
 */
export async function installPgBouncer(folder: string): Promise<Installation> {
  for (const command of ["pgbouncer", "/usr/sbin/pgbouncer"]) {
    const installation = { command, env: process.env };
    if (await works(installation)) return installation;
  }
  const cached = join(cache, process.arch);
  const missing = await works(await unpacked(cached)).then((isThere) => !isThere);
  if (missing) await unpackPackage(cached);
  const copied = join(folder, "pgbouncer");
  await cp(cached, copied, { recursive: true, verbatimSymlinks: true });
  return unpacked(copied);
}

async function works({ command, env }: Installation): Promise<boolean> {
  return run(command, ["--version"], { env }).then(
    () => true,
    () => false,
  );
}

async function unpacked(folder: string): Promise<Installation> {
  const places: string[] = [];
  for await (const place of glob("{usr/,}lib/*/", { cwd: folder })) places.push(join(folder, place));
  const libraries = places.join(":");
  return { command: join(folder, "usr/sbin/pgbouncer"), env: { ...process.env, LD_LIBRARY_PATH: libraries } };
}

async function unpackPackage(target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const folder = await mkdtemp(join(cache, "unpacking-"));
  try {
    const packages = join(folder, "packages");
    const root = join(folder, "root");
    await mkdir(packages);
    const [found = ""] = await download(packages, ["pgbouncer"]);
    await run("dpkg", ["-x", found, root]);
    if (!(await works(await unpacked(root)))) {
      for (const library of await download(packages, await librariesOf(found)))
        await run("dpkg", ["-x", library, root]);
    }
    await rm(target, { recursive: true, force: true });
    // Another process may have done the same.
    await rename(root, target).catch(() => undefined);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The libraries that a package depends on: of alternatives the first one. */
async function librariesOf(file: string): Promise<readonly string[]> {
  const { stdout } = await run("dpkg-deb", ["-f", file, "Depends"]);
  const names = stdout.split(",").map((entry) => /^[a-z\d.+-]+/.exec(entry.trim())?.[0] ?? "");
  return names.filter((name) => name.startsWith("lib") && name !== "libc6");
}

/** Downloads packages without installing them, for which nobody needs to be root; a machine without lists of packages gets its own here. */
async function download(folder: string, names: readonly string[]): Promise<readonly string[]> {
  const options = [
    "-o",
    "Acquire::Retries=0",
    "-o",
    "Acquire::http::Timeout=15",
    "-o",
    "APT::Sandbox::User=root",
  ];
  const fetchAll = (more: readonly string[]): Promise<unknown> =>
    run("apt-get", [...options, ...more, "download", ...names], { cwd: folder, timeout: patienceMs });
  try {
    await fetchAll([]);
  } catch {
    const own = ["-o", `Dir::State::lists=${folder}/lists/`, "-o", `Dir::Cache=${folder}/cache/`];
    await mkdir(join(folder, "lists/partial"), { recursive: true });
    await mkdir(join(folder, "cache/archives/partial"), { recursive: true });
    await run("apt-get", [...options, ...own, "update"], { cwd: folder, timeout: patienceMs });
    await fetchAll(own);
  }
  const files = await readdir(folder);
  return names.flatMap((name) =>
    files.filter((file) => file.startsWith(`${name}_`)).map((file) => join(folder, file)),
  );
}
