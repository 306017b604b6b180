import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

/**
 * Writes a folder's report and returns its path. Nobody ever sees half of it. A step that a crash
 * interrupted writes it again, under the same name, which is derived from the folder's: one report is left.
 */
export async function writeReport(reportFolder: string, root: string, markdown: string): Promise<string> {
  const folder = resolve(reportFolder);
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${nameOf(root)}.md`);
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(draft, "wx");
    try {
      await file.writeFile(markdown);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return path;
}

/** Readable, and different for two folders of the same name. */
function nameOf(root: string): string {
  const readable = basename(root)
    .replace(/[^\p{L}\p{N}._-]/gu, "-")
    .slice(0, 60);
  const unique = createHash("sha256").update(root).digest("hex").slice(0, 8);
  return `${readable || "root"}-${unique}`;
}
