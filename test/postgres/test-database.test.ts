import { expect, test } from "vitest";
import { FreshDatabase, FreshSchema, sharedDatabase } from "./test-database.ts";
import { withClient } from "./with-client.ts";

test("one server answers all who ask", async () => {
  const [one, other] = await Promise.all([sharedDatabase(), sharedDatabase()]);
  expect(one).toBe(other);
  const { rows } = await withClient(one, (client) =>
    client.query("select 1 as one, current_setting('server_encoding') as encoding"),
  );
  expect(rows).toEqual([{ one: 1, encoding: "UTF8" }]);
});

test("a schema goes with those that were named after it, and with no other", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  const kept = await FreshSchema.inSharedDatabase();
  const named = [fresh.schema, `${fresh.schema}_more`, kept.schema];
  const left = await withClient(fresh.url, async (client) => {
    for (const name of named) await client.query(`create schema ${name} create table thing (value int)`);
    await fresh.drop();
    return client.query("select nspname as name from pg_namespace where nspname = any($1)", [named]);
  });
  expect(left.rows).toEqual([{ name: kept.schema }]);
  await kept.drop();
});

test("a database is dropped with connections to it", async () => {
  const fresh = await FreshDatabase.create();
  await withClient(fresh.url, async (client) => {
    const ended = new Promise<void>((resolve) => client.once("end", resolve));
    await fresh.drop();
    await ended;
  });
  await expect(withClient(fresh.url, (client) => client.query("select 1"))).rejects.toThrow("does not exist");
});
