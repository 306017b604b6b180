import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "holdfast/sqlite";
import { storeContract } from "holdfast/testing";
import { describe, test } from "vitest";

async function place() {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-contract-"));
  return {
    store: () => sqliteStore(join(folder, "tasks.db")),
    kill: (owner: string) => rm(join(folder, "tasks.db.owners", owner)),
    remove: () => rm(folder, { recursive: true }),
  };
}

describe("sqlite store", () => {
  for (const { name, run } of storeContract({ durable: true, owners: "several", place })) test(name, run);
});
