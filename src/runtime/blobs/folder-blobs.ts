import type { Dirent } from "node:fs";
import { readdir, readFile, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Blobs } from "../../store/blobs.ts";
import { replaceFile } from "../replace-file.ts";

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
        await replaceFile(file, data);
      } catch (error) {
        if (!isMissing(error)) throw error;
        await replaceFile(file, data); // the folder has just been deleted as an empty one
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

async function* filesIn(root: string, folder: string): AsyncGenerator<string> {
  for (const entry of await entriesOf(join(root, folder))) {
    const name = `${folder}${entry.name}`;
    if (entry.isDirectory()) yield* filesIn(root, `${name}/`);
    else yield name;
  }
}

/** The names of the folders in a folder. */
export async function foldersIn(path: string): Promise<readonly string[]> {
  return (await entriesOf(path)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
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
