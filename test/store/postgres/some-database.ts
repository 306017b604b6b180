import { Pool, TypeOverrides, types } from "pg";
import { onTestFinished } from "vitest";
import { Database } from "../../../src/store/postgres/database.ts";
import { migrateSchema } from "../../../src/store/postgres/migrate.ts";
import { namesIn, type Names } from "../../../src/store/postgres/names.ts";
import { Owners } from "../../../src/store/postgres/ownership.ts";
import { FreshSchema } from "../../postgres/test-database.ts";

/** A schema with no tasks, and processes' connections to it. */
export interface SomeSchema {
  readonly names: Names;
  /** Registers an owner that writes through these connections. */
  owner(id: string, database: Database): Promise<Owners>;
  /** Connections as another process has them. */
  connect(): Database;
}

/** It goes with its connections when the test is over. */
export async function someSchema(): Promise<SomeSchema> {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const parsers = new TypeOverrides();
  parsers.setTypeParser(types.builtins.INT8, Number);
  const connect = (): Database => {
    const database = new Database(
      new Pool({ connectionString: fresh.url, max: 4, pipeline: true, types: parsers }),
      20_000,
    );
    onTestFinished(() => database.close());
    return database;
  };
  const names = namesIn(fresh.schema);
  await migrateSchema(connect(), names);
  const owner = async (id: string, database: Database): Promise<Owners> => {
    const owners = new Owners(database, names, { id, handlers: [] }, 600_000);
    await owners.register();
    return owners;
  };
  return { names, connect, owner };
}
