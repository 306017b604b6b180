import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A path for a store, with nothing there yet; what comes to be there goes with the test. */
export async function folderForHandles(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "holdfast-handles-"));
  onTestFinished(async () => rm(parent, { recursive: true, force: true }));
  return join(parent, "of", "mine.db");
}
