import { memoryStore } from "../../src/store/memory/memory-store.ts";
import { storeContract } from "./store-contract.ts";

storeContract({
  name: "memory",
  durable: false,
  place: async () => ({ store: memoryStore, remove: async () => undefined }),
});
