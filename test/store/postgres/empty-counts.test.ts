import { expect, onTestFinished, test } from "vitest";
import { EmptyCounts } from "../../../src/store/postgres/open-parts.ts";
import { GroupReader } from "../../../src/store/postgres/group-reader.ts";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import type { TaskStore } from "../../../src/store/store.ts";
import { createQueued, noon } from "../../../src/testing/sample-task.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";
import { someSchema } from "./some-database.ts";

const room = { unfinished: 1_000, retained: 1_000 };
const quota = { perPrincipal: room, total: room };

async function openStore(): Promise<{ store: TaskStore; counts: () => Promise<string[]> }> {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const store = postgresStore(fresh.url, { schema: fresh.schema });
  await store.open({ id: "one", handlers: [] });
  onTestFinished(() => store.close());
  const counts = (): Promise<string[]> =>
    withClient(fresh.url, async (client) => {
      const sql = `SELECT key || ' ' || sum(retained) AS count FROM ${fresh.schema}.usage GROUP BY key ORDER BY 1`;
      const { rows } = await client.query<{ count: string }>(sql);
      return rows.map(({ count }) => count);
    });
  return { store, counts };
}

async function makeEnded(store: TaskStore, name: string, principal: string): Promise<void> {
  await store.write({ ...createQueued(name, { principal }), quota });
  await store.write({ type: "cancel", now: noon, id: `task-${name}` });
}

test("a principal who has nothing left is counted no more, and one who has something is", async () => {
  const { store, counts } = await openStore();
  await makeEnded(store, "a", "ann");
  await makeEnded(store, "b", "ann");
  await makeEnded(store, "c", "bob");
  expect(await counts()).toEqual(["pann 2", "pbob 1", "t 3"]);
  await store.write({ type: "delete", now: noon, id: "task-a" });
  await store.write({ type: "delete", now: noon, id: "task-c" });
  await expect.poll(counts).toEqual(["pann 1", "t 1"]);
  const later = noon + 24 * 60 * 60_000;
  await store.write({ type: "delete_expired", now: later, limit: 10 });
  await expect.poll(counts).toEqual(["t 0"]);
  await makeEnded(store, "d", "ann");
  expect(await counts()).toEqual(["pann 1", "t 1"]);
});

test("a count is left alone while a task is made that belongs to it, with a limit or without", async () => {
  const schema = await someSchema();
  const { names } = schema;
  const database = schema.connect();
  const owners = await schema.owner("one", database);
  await database.query(`INSERT INTO ${names.usage} VALUES ('pann', 3, 0, 0)`);
  const making = await database.begin();
  onTestFinished(() => making.rollback());
  await new GroupReader(names, owners, database.codecs).read(making, [createQueued("a")], false);
  const other = new EmptyCounts(schema.connect(), names);
  const left = (): Promise<unknown> => database.query(`SELECT key FROM ${names.usage}`);
  other.add(["pann"]);
  await other.close();
  expect(await left()).toEqual([["pann"]]);
  await making.rollback();
  other.add(["pann"]);
  await other.close();
  expect(await left()).toEqual([]);
});
