import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import { Database } from "../../../src/store/postgres/database.ts";
import { migrateSchema, prepareSchema } from "../../../src/store/postgres/migrate.ts";
import { namesIn } from "../../../src/store/postgres/names.ts";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { columnsOfTables, migrations, type Migration } from "../../../src/store/postgres/schema.ts";
import { FreshDatabase, FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

const ann = { generation: "2026-07-28" as const, principal: "ann" };

/** A later version: it changes a table that is in use, and has a text in it that is no list of statements. */
const second: Migration = {
  sql: ({ task, quoted }) => `
    ALTER TABLE ${task} ADD COLUMN colour text COLLATE "C";
    CREATE FUNCTION ${quoted}.colour_of(wanted text) RETURNS text LANGUAGE plpgsql AS $body$
    BEGIN
      RETURN (SELECT colour FROM ${task} WHERE id = wanted);
    END;
    $body$;
    CREATE TABLE ${quoted}.palette (colour text PRIMARY KEY);
  `,
  goodFor: 1,
};
const known = [...migrations, second];

async function freshSchema() {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  return { url: fresh.url, schema: fresh.schema, names: namesIn(fresh.schema) };
}

/** The connection of another process. */
function connect(url: string): Database {
  const database = new Database(new Pool({ connectionString: url, max: 2, pipeline: true }), 20_000);
  onTestFinished(() => database.close());
  return database;
}

test.for(["read committed", "serializable"])(
  "processes that start at the same moment make a schema once, where transactions are %s",
  async (level) => {
    const fresh = await FreshDatabase.create();
    onTestFinished(() => fresh.drop());
    await withClient(fresh.url, (client) =>
      client.query(
        `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''${level}''', current_database()); END $$`,
      ),
    );
    const names = namesIn("tasks");
    const processes = Array.from({ length: 8 }, () => connect(fresh.url));
    // Each of them has looked, and found none, before one of them makes it.
    for (const database of processes) {
      const prepared = prepareSchema(database, names, undefined);
      await expect(prepared).rejects.toMatchObject({ code: "store_unusable" });
    }
    const made = await Promise.all(processes.map((database) => migrateSchema(database, names)));
    expect(made.reduce((sum, each) => sum + each)).toBe(migrations.length);
  },
);

test("a process goes on with its tasks while a later one migrates, and others of its version still start", async () => {
  const { url, schema, names } = await freshSchema();
  const registry = new Registry();
  const gate = Promise.withResolvers<void>();
  let waiting = 0;
  registry.add("half", {}, async (_, task) => {
    await task.step("first", () => ++waiting);
    await gate.promise;
    return { content: [{ type: "text", text: String(await task.step("second", () => "done")) }] };
  });
  const start = async () => {
    const runtime = createRuntime({ store: postgresStore(url, { schema }), registry });
    await runtime.start();
    onTestFinished(() => runtime.stop());
    return runtime;
  };
  const runtime = await start();
  const create = () => runtime.create({ ...ann, tool: "half", arguments: {}, origin: { capabilities: {} } });
  const tasks = await Promise.all(Array.from({ length: 10 }, create));
  await expect.poll(() => waiting).toBe(10);

  let made = 0;
  const migrating = migrateSchema(connect(url), names, { known }).then((count) => (made = count));
  // Not one write is refused meanwhile.
  while (made === 0) tasks.push(await create());
  expect(await migrating).toBe(1);
  gate.resolve();
  for (const { task } of tasks) {
    await expect.poll(async () => (await runtime.get(task.id, ann)).task.state).toBe("settled");
  }
  const beside = await start();
  expect((await beside.get(tasks[0]?.task.id ?? "", ann)).task.state).toBe("settled");
}, 30_000);

test("a process is refused by a schema that is none for its version any more", async () => {
  const { url, schema, names } = await freshSchema();
  await migrateSchema(connect(url), names, { known: [...migrations, { ...second, goodFor: known.length }] });
  await expect(postgresStore(url, { schema }).open({ id: "one", handlers: [] })).rejects.toMatchObject({
    code: "store_unusable",
    message: `Schema ${schema} of the database has version ${known.length}, which only a Holdfast that knows version ${known.length} can use. Update Holdfast.`,
  });
  // Nor is it taken for good again by what comes after.
  const third = { sql: () => "SELECT 1", goodFor: 1 };
  await migrateSchema(connect(url), names, {
    known: [...migrations, { ...second, goodFor: known.length }, third],
  });
  await expect(prepareSchema(connect(url), names, undefined)).rejects.toThrow(
    `only a Holdfast that knows version ${known.length}`,
  );
});

test("tables of another version with as many migrations are refused: a column too few, or one that nobody fills", async () => {
  const { url, schema, names } = await freshSchema();
  const database = connect(url);
  await migrateSchema(database, names);
  const columns = await database.query(
    `SELECT table_name::text, column_name::text FROM information_schema.columns
      WHERE table_schema = $1 AND table_name <> 'migration' ORDER BY 1, 2`,
    [schema],
  );
  const expected = Object.entries(columnsOfTables).flatMap(([table, each]) =>
    each.map((column) => [table, column]),
  );
  expect(new Set(expected.map(String))).toEqual(new Set(columns.map(String)));
  const open = (): Promise<void> => postgresStore(url, { schema }).open({ id: "one", handlers: [] });
  await database.query(`ALTER TABLE ${names.task} DROP COLUMN cause`);
  await expect(open()).rejects.toMatchObject({
    code: "store_unusable",
    message: expect.stringContaining("lacks column cause of task: another version of Holdfast") as string,
  });
  await database.query(`ALTER TABLE ${names.task} ADD COLUMN cause text, ADD COLUMN hue text NOT NULL`);
  await expect(open()).rejects.toThrow(
    "needs values for what this version does not know: column hue of task",
  );
});

test("a process that may not migrate names the command, and migrates nothing", async () => {
  const { url, schema, names } = await freshSchema();
  const store = postgresStore(url, { schema, migrate: false });
  const command = `Run "holdfast migrate URL --schema ${schema}", or set migrate to true.`;
  await expect(store.open({ id: "one", handlers: [] })).rejects.toMatchObject({
    code: "store_unusable",
    message: `The database has no Holdfast tables in schema ${schema}; this process needs version ${migrations.length}. ${command}`,
  });
  await migrateSchema(connect(url), names);
  await expect(prepareSchema(connect(url), names, undefined, known)).rejects.toThrow(
    `has version ${migrations.length} of the tables in schema ${schema}; this process needs version ${known.length}. ${command}`,
  );
  await prepareSchema(connect(url), names, undefined);
});

test("a migration that fails changes nothing, and says what failed", async () => {
  const { url, names } = await freshSchema();
  const database = connect(url);
  await migrateSchema(database, names);
  const broken = { sql: () => `CREATE TABLE ${names.quoted}.half (a text);\nSELECT nothing`, goodFor: 1 };
  await expect(migrateSchema(database, names, { known: [...migrations, broken] })).rejects.toMatchObject({
    code: "store_unusable",
    message: `Schema ${names.schema} cannot be migrated: column "nothing" does not exist.`,
  });
  const there = "SELECT count(*)::int FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'half'";
  expect(await database.query(there, [names.schema])).toEqual([[0]]);
  expect(await migrateSchema(database, names, { known })).toBe(1);
});

test("a migration that waits for a transaction holds nobody up for long, and gives up with its reason", async () => {
  const { url, names } = await freshSchema();
  const database = connect(url);
  await migrateSchema(database, names);
  await withClient(url, async (client) => {
    await client.query(`BEGIN; SELECT count(*) FROM ${names.task}`);
    const migrating = migrateSchema(database, names, { known });
    const isWaiting = `SELECT count(*)::int FROM pg_catalog.pg_locks WHERE relation = '${names.task}'::regclass AND NOT granted`;
    const other = connect(url);
    await expect.poll(() => other.query(isWaiting)).toEqual([[1]]);
    // It would wait behind the migration for as long as that waits.
    expect(await other.query(`SELECT count(*)::int FROM ${names.task}`)).toEqual([[0]]);
    await client.query("COMMIT");
    expect(await migrating).toBe(1);

    await client.query(`BEGIN; SELECT count(*) FROM ${names.task}`);
    const third = { sql: () => `ALTER TABLE ${names.task} ADD COLUMN shape text`, goodFor: 1 };
    const patience = { known: [...known, third], patienceMs: 1 };
    await expect(migrateSchema(database, names, patience)).rejects.toMatchObject({
      code: "store_unusable",
      message: expect.stringContaining("A long transaction holds locks on its tables") as string,
    });
  });
}, 30_000);
