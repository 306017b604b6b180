import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** What a write leaves behind whose process died: see `isLeftover`. */
const leftover = /^\.[0-9a-f-]{36}\.tmp$/;

export function isLeftover(name: string): boolean {
  return leftover.test(name);
}

/**
 * Puts a file into its place so that everybody sees the old one or the new one, whole, whatever dies in between; once
 * it resolves, the file survives a loss of power. Only its owner may read it.
 */
export async function writeAtomically(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${crypto.randomUUID()}.tmp`);
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(text);
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

/** Makes the folder, and those above it, for their owner alone. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.startsWith(first); made = dirname(made)) await syncFolder(dirname(made));
}

/** Windows cannot open a folder, and keeps the order of renames by itself. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
