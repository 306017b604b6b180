import { copyFile, mkdtemp, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Gives `work` a copy of an unopened database, for a server to change, and then removes it with its side files. */
export async function withCopy<T>(database: string, work: (copy: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(dirname(database), "copy-"));
  try {
    const copy = join(folder, "tasks.db");
    await copyFile(database, copy);
    // Otherwise the server's first fsync would wait until the whole copy is on disk.
    const file = await open(copy, "r+");
    await file.sync();
    await file.close();
    return await work(copy);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
