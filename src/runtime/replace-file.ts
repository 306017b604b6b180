import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Replaces a file atomically: readers see the complete old or new file, even if the process dies in between. Once
 * it resolves, the file survives a loss of power. Only its owner may read it. Makes the folder if it is missing.
 */
export async function replaceFile(
  path: string,
  data: string | Uint8Array,
  move: (from: string, to: string) => Promise<void> = rename,
): Promise<void> {
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
    await move(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(folder);
}

/** Makes the folder and its missing parents, readable by their owner only. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.startsWith(first); made = dirname(made)) await syncFolder(dirname(made));
}

/** Windows cannot open a folder, and orders renames by itself. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
