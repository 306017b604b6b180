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
    remove: () => rm(folder, { recursive: true }),
  };
}

describe("sqlite store", () => {
  for (const { name, run } of storeContract({ durable: true, place })) test(name, run);
});
