import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** What a report on a folder has to say, counted another way than the tool counts. */
export interface Totals {
  files: number;
  words: number;
  bytes: number;
  copies: number;
}

/** Fills `folder` with `files` text files, in folders and with names of all kinds, and with what is left out. */
export async function fillSampleFolder(folder: string, files: number): Promise<Totals> {
  const totals: Totals = { files: 0, words: 0, bytes: 0, copies: 0 };
  const contents = new Set<string>();
  const add = async (path: string, words: number): Promise<void> => {
    const content = Array.from({ length: words }, (_, n) => `wörd${n}${n % 7 === 6 ? "\n" : "  "}`).join("");
    await put(join(folder, path), content);
    if (contents.has(content)) totals.copies++;
    contents.add(content);
    totals.files++;
    totals.words += words;
    totals.bytes += new TextEncoder().encode(content).byteLength;
  };
  await add("deep/down/nested.txt", 70);
  await add("größe 文.md", 20);
  await add("evil\n|name|\u001B[31m.txt", 4_000);
  await add("empty.txt", 0);
  await add("longest.txt", 5_000);
  for (let n = totals.files; n < files; n++) await add(`plain/${n}.txt`, n);
  await put(join(folder, "large.txt"), "x".repeat(1024 * 1024 + 1));
  await put(join(folder, "node_modules/package/index.js"), "module");
  await symlink(join(folder, "longest.txt"), join(folder, "link.txt"));
  return totals;
}

async function put(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}
