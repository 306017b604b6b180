import { test } from "node:test";
import { memoryStore } from "holdfast/memory";
import { storeContract } from "holdfast/testing";

const place = async () => ({ store: memoryStore, remove: async () => undefined });

for (const { name, run } of storeContract({ durable: false, place })) void test(name, run);
