import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { TaskStore } from "../../../src/store/store.ts";
import { sqliteStore, type SqliteStoreOptions } from "../../../src/store/sqlite/sqlite-store.ts";
import { someOwner } from "./some-owner.ts";

interface TempDirectory {
  /** The path of a name in this test's directory. */
  path(name?: string): string;
  /** A store that is open for an owner of its own, and closed after the test. */
  open(name?: string, options?: SqliteStoreOptions): Promise<TaskStore>;
}

/** Gives every test of the file a directory of its own, and closes and removes what it left there. */
export function useTempDirectory(): TempDirectory {
  let directory = "";
  let stores: TaskStore[] = [];
  beforeEach(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "holdfast-sqlite-")));
    stores = [];
  });
  afterEach(async () => {
    for (const store of stores) await store.close();
    await rm(directory, { recursive: true });
  });
  const path = (name = "tasks.db"): string => join(directory, name);
  return {
    path,
    open: async (name, options) => {
      const store = sqliteStore(path(name), options);
      await store.open(someOwner());
      stores.push(store);
      return store;
    },
  };
}
