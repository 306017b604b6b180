import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { storeContract } from "./store-contract.ts";

storeContract({
  name: "sqlite",
  durable: true,
  place: async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-contract-"));
    return {
      store: () => sqliteStore(join(directory, "tasks.db")),
      remove: () => rm(directory, { recursive: true }),
    };
  },
});
