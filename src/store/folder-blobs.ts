import type { Dirent } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Blobs } from "./blobs.ts";

/**
 * Keeps the bytes of artifacts as files in a folder, which is made if it is missing, and which only this user may read. All processes on the
 * store need the same folder. For the `blobs` of `createTasks`.
 *
 * ```ts
 * const tasks = createTasks({ store: postgresStore(url), blobs: folderBlobs("/mnt/shared/files") });
 * ```
 */
export function folderBlobs(path: string): Blobs {
  return {
    async put(name, data) {
      const file = join(path, name);
      try {
        await writeFile(file, data);
      } catch (error) {
        if (!isMissing(error)) throw error;
        await writeFile(file, data); // the folder has just been deleted as an empty one
      }
    },
    async get(name) {
      try {
        return await readFile(join(path, name));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    async delete(name) {
      const file = join(path, name);
      await rm(file, { force: true });
      // Its folder, if it was the last one there.
      await rmdir(dirname(file)).catch(() => undefined);
    },
    list: (prefix) => filesIn(path, prefix),
  };
}

/** Replaces a file at once. The file and its name survive a loss of power. */
async function writeFile(path: string, data: Uint8Array): Promise<void> {
  const folder = dirname(path);
  await makeFolder(folder);
  const temporary = join(folder, `.${crypto.randomUUID()}.tmp`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(folder);
}

async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.startsWith(first); made = dirname(made)) await syncFolder(dirname(made));
}

/** Does nothing where folders cannot be opened, as on Windows, which keeps names in order by itself. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function* filesIn(root: string, folder: string): AsyncGenerator<string> {
  for (const entry of await entriesOf(join(root, folder))) {
    const name = `${folder}${entry.name}`;
    if (entry.isDirectory()) yield* filesIn(root, `${name}/`);
    else yield name;
  }
}

/** None of a folder that is missing: another process may have deleted it meanwhile. */
async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
