import { describe, test } from "vitest";
import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { storeContract } from "../../src/testing/store-contract.ts";

const place = async () => ({ store: memoryStore, remove: async () => undefined });

describe("memory store", () => {
  for (const { name, run } of storeContract({ durable: false, place })) test(name, run);
});
