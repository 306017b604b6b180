import { copyFile, mkdtemp, open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Gives `work` a copy of a database that nobody has open, for a server to change, and removes it with all that comes beside it. */
export async function withCopy<T>(database: string, work: (copy: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(dirname(database), "copy-"));
  try {
    const copy = join(folder, "tasks.db");
    await copyFile(database, copy);
    // Else the server's first fsync would wait until all of the copy is on disk.
    const file = await open(copy, "r+");
    await file.sync();
    await file.close();
    return await work(copy);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
