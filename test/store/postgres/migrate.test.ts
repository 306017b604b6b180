import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { Database } from "../../../src/store/postgres/database.ts";
import { migrateSchema, migrations, prepareSchema } from "../../../src/store/postgres/migrate.ts";
import { namesIn } from "../../../src/store/postgres/names.ts";
import { FreshSchema } from "../../postgres/test-database.ts";

test("processes that start at the same moment make a schema once", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const names = namesIn(fresh.schema);
  const processes = Array.from({ length: 8 }, () => {
    const database = new Database(new Pool({ connectionString: fresh.url, max: 1, pipeline: true }), 20_000);
    onTestFinished(() => database.close());
    return database;
  });
  // Each of them has looked, and found none, before one of them makes it.
  for (const database of processes) {
    await expect(prepareSchema(database, names, false)).rejects.toMatchObject({ code: "store_unusable" });
  }
  const made = await Promise.all(processes.map((database) => migrateSchema(database, names)));
  expect(made.toSorted((a, b) => a - b)).toEqual([...processes.slice(1).map(() => 0), migrations.length]);
});
