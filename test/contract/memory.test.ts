import { describe, test } from "vitest";
import { memoryDatabase, memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { nothingSkipped } from "./nothing-skipped.ts";

async function placeOfEach() {
  return { store: () => memoryStore(), remove: async () => undefined };
}

async function sharedPlace() {
  const database = memoryDatabase();
  return {
    store: () => memoryStore(database),
    kill: async (owner: string) => database.kill(owner),
    remove: async () => undefined,
  };
}

describe("memory store", () => {
  for (const { name, run } of storeContract({ durable: false, place: placeOfEach })) test(name, run);
});

describe("memory stores of one database", () => {
  const kind = { durable: true, owners: "several", place: sharedPlace } as const;
  for (const { name, run } of storeContract(kind)) test(name, () => run(nothingSkipped));
});
