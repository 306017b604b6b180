import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { test } from "vitest";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { follow } from "./follow.ts";
import { modelRuns, modelTimeoutMs } from "./model-runs.ts";
import { arbitraryMoves } from "./moves.ts";
import { StoreSubject } from "./store-subject.ts";

test("SQLite stores of one file do what the model does", { timeout: modelTimeoutMs }, async () => {
  const property = fc.asyncProperty(arbitraryMoves(60), async (moves) => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-model-"));
    const path = join(directory, "tasks.db");
    const place = {
      open: (id: string, handlers: Parameters<typeof StoreSubject.open>[2]) =>
        StoreSubject.open(sqliteStore(path), id, handlers),
      kill: (id: string) => rm(join(`${path}.owners`, id)),
      outlivesKill: true,
      revives: false,
      wholeGroups: true,
    };
    try {
      await follow(place, moves);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
  await fc.assert(property, modelRuns(20));
});
