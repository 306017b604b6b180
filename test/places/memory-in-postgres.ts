// With HOLDFAST_TEST_STORE=postgres it stands in for `holdfast/memory`: what tests say of a store that they know nothing of is to be true of
// Postgres, too.
import { postgresStore } from "holdfast/postgres";
import type { TaskStore } from "holdfast/store";
import { dropSchema, freshName, sharedDatabase } from "../postgres/test-database.ts";

/** A schema for several stores; it goes with the run. */
interface MemoryDatabase {
  readonly schema: string;
}

// A setup file of vitest imports this one first, so that stores are made without waiting.
const url = await sharedDatabase();

export function memoryDatabase(): MemoryDatabase {
  return { schema: freshName() };
}

/** Without a database the store has a schema to itself, which is gone when it is closed. */
export function memoryStore(database?: MemoryDatabase): TaskStore {
  const { schema } = database ?? memoryDatabase();
  const store = postgresStore(url, { schema });
  if (database !== undefined) return store;
  const close = store.close.bind(store);
  store.close = async () => {
    await close();
    await dropSchema(url, schema);
  };
  return store;
}
