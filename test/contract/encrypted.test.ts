import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresStore } from "holdfast/postgres";
import { sqliteStore } from "holdfast/sqlite";
import { encryptedStore, type TaskStore } from "holdfast/store";
import { storeContract } from "holdfast/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { memoryDatabase, memoryStore } from "../../src/store/sqlite/memory-store.ts";
import { fullForm } from "../full-form.ts";
import { EmptiedSchemas } from "../postgres/emptied-schemas.ts";
import { nothingSkipped } from "./nothing-skipped.ts";

const keys = [{ id: "k1", key: Buffer.alloc(32, 1) }];
const encrypted = (inner: TaskStore): TaskStore => encryptedStore(inner, { keys });

async function inMemory() {
  const database = memoryDatabase();
  return {
    store: () => encrypted(memoryStore(database)),
    kill: async (owner: string) => database.kill(owner),
    remove: async () => undefined,
  };
}

async function inFile() {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-contract-"));
  return {
    store: () => encrypted(sqliteStore(join(folder, "tasks.db"))),
    kill: (owner: string) => rm(join(folder, "tasks.db.owners", owner)),
    remove: () => rm(folder, { recursive: true }),
  };
}

describe("encrypted memory store", () => {
  const kind = { durable: true, owners: "several", place: inMemory } as const;
  for (const { name, run } of storeContract(kind)) test(name, () => run(nothingSkipped));
});

// The short form has the cases of SQLite and Postgres without encryption, and of the encryption with a store that is quick.
describe.runIf(fullForm)("encrypted sqlite store", () => {
  const kind = { durable: true, owners: "several", place: inFile } as const;
  for (const { name, run } of storeContract(kind)) test(name, () => run(nothingSkipped));
});

describe.runIf(fullForm)("encrypted postgres store", () => {
  let schemas: EmptiedSchemas;
  beforeAll(async () => {
    schemas = await EmptiedSchemas.inSharedDatabase();
  });
  afterAll(() => schemas[Symbol.asyncDispose]());

  async function place() {
    const { url } = schemas;
    const schema = schemas.take();
    return {
      store: () => encrypted(postgresStore(url, { schema })),
      kill: (owner: string) => schemas.endLease(schema, owner),
      remove: () => schemas.giveBack(schema),
    };
  }
  for (const { name, run } of storeContract({ durable: true, owners: "several", place }))
    test(name, () => run(nothingSkipped));
});
