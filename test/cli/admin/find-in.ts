import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The files of a folder and of all below it. */
export async function fileNames(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** The files that have one of the words in them, in UTF-8 or UTF-16, each with the word. */
export async function findIn(folder: string, words: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await fileNames(folder)) {
    const bytes = await readFile(name).catch(() => Buffer.alloc(0)); // it was removed meanwhile
    for (const word of words)
      if (bytes.includes(word) || bytes.includes(Buffer.from(word, "utf16le")))
        found.push(`${name}: ${word}`);
  }
  return found;
}
