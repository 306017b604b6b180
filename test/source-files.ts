import { readdir, readFile } from "node:fs/promises";
import { relative, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));

/**
 * The text of every file below `folder` (or of that one file) by its path from the root; absent ones are skipped, and so
 * are packages that are installed there and what was built.
 */
export async function sourceFiles(
  folder: string,
  extensions: readonly string[],
): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const path of (await paths(join(root, folder))).sort()) {
    if (!extensions.some((extension) => path.endsWith(extension))) continue;
    texts.set(relative(root, path).replaceAll(sep, "/"), await readFile(path, "utf8"));
  }
  return texts;
}

async function paths(start: string): Promise<string[]> {
  try {
    const entries = await readdir(start, { recursive: true, withFileTypes: true });
    return entries
      .filter(
        (entry) =>
          entry.isFile() && !/(^|[\\/])(node_modules|dist)([\\/]|$)/.test(relative(start, entry.parentPath)),
      )
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOTDIR") return [start];
    if (code === "ENOENT") return [];
    throw error;
  }
}
