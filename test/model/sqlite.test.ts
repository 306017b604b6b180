import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { arbitraryMoves, follow } from "./follow.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import { storeSubject } from "./store-subject.ts";

test(
  "the SQLite store does what the model does, also when it is reopened",
  { timeout: modelTimeoutMs },
  async () => {
    const property = fc.asyncProperty(arbitraryMoves(60, true), async (moves) => {
      const directory = await mkdtemp(join(tmpdir(), "holdfast-model-"));
      const subject = await storeSubject(() => sqliteStore(join(directory, "tasks.db")));
      try {
        await follow(subject, moves);
      } finally {
        await subject.close();
        await rm(directory, { recursive: true });
      }
    });
    await fc.assert(property, modelRuns(20));
  },
);
