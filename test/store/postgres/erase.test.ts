import type { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { eraseFromPostgres } from "../../../src/store/postgres/data-care.ts";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { createQueued, noon } from "../../../src/testing/sample-task.ts";
import { FreshDatabase, FreshSchema } from "../../postgres/test-database.ts";
import { findIn } from "../../cli/admin/find-in.ts";
import { withClient } from "../../postgres/with-client.ts";

const room = { unfinished: 1_000, retained: 1_000 };

test(
  "a task that a server deletes meanwhile is counted once, and not twice, among those that are gone",
  { timeout: 60_000 },
  async () => {
    const fresh = await FreshSchema.inSharedDatabase();
    onTestFinished(() => fresh.drop());
    const { url, schema } = fresh;
    const store = postgresStore(url, { schema });
    await store.open({ id: "one", handlers: [] });
    const quota = { perPrincipal: room, total: room };
    for (const [name, principal] of [
      ["a", "erin"],
      ["b", "erin"],
      ["c", "otto"],
    ] as const) {
      await store.write({ ...createQueued(name, { principal }), quota });
      await store.write({ type: "cancel", now: noon, id: `task-${name}` });
    }
    await store.close();

    await withClient(url, async (client) => {
      await client.query("BEGIN");
      await client.query(`DELETE FROM ${schema}.task WHERE id = 'task-a'`);
      await client.query(`UPDATE ${schema}.usage SET retained = retained - 1 WHERE key IN ('t', 'perin')`);
      const erasing = eraseFromPostgres({ url, options: { schema } }, "erin");
      await withClient(url, async (other) => {
        const waits = async (): Promise<number | null> =>
          (await other.query("SELECT 1 FROM pg_locks WHERE NOT granted")).rowCount;
        await expect.poll(waits, { timeout: 20_000 }).toBeGreaterThan(0);
      });
      await client.query("COMMIT");
      expect((await erasing).rows).toMatchObject({ task: 1 });
      const { rows } = await client.query(
        `SELECT key, sum(retained)::int AS retained FROM ${schema}.usage GROUP BY key ORDER BY key`,
      );
      expect(rows).toEqual([
        { key: "potto", retained: 1 },
        { key: "t", retained: 1 },
      ]);
    });
  },
);

async function isInFiles(url: string, mark: string): Promise<boolean> {
  return withClient(url, async (client) => {
    await client.query("CHECKPOINT");
    const { rows } = await client.query<{ at: string }>(
      "SELECT current_setting('data_directory') || '/base/' || oid AS at FROM pg_database WHERE datname = current_database()",
    );
    return (await findIn(rows[0]?.at ?? "", [mark])).length > 0;
  });
}

async function withReader(work: (place: ErasedPlace) => Promise<void>): Promise<void> {
  // Nobody else reads it.
  const fresh = await FreshDatabase.create();
  onTestFinished(() => fresh.drop());
  const { url } = fresh;
  const store = postgresStore(url);
  await store.open({ id: "one", handlers: [] });
  const principal = "erin-9d1f";
  await store.write({
    ...createQueued("a", { principal }),
    quota: { perPrincipal: room, total: room },
  });
  await store.write({ type: "cancel", now: noon, id: "task-a" });
  await store.close();
  await withClient(url, async (reader) => {
    // It has read none of the tables, and could read all of them as they are now.
    await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await reader.query("SELECT count(*) FROM pg_catalog.pg_class");
    await work({ url, principal, reader });
  });
}

interface ErasedPlace {
  readonly url: string;
  readonly principal: string;
  readonly reader: Client;
}

test(
  "waits for transactions that can see what is deleted, and leaves nothing",
  { timeout: 60_000 },
  async () =>
    withReader(async ({ url, principal, reader }) => {
      const erasing = eraseFromPostgres({ url, options: {} }, principal, 30_000);
      await withClient(url, async (other) => {
        const waits = async (): Promise<number | null> =>
          (await other.query("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")).rowCount;
        await expect.poll(waits, { timeout: 20_000 }).toBeGreaterThan(0);
      });
      await reader.query("COMMIT");
      expect(await erasing).toMatchObject({ rows: { task: 1 }, isClean: true });
      expect(await isInFiles(url, principal)).toBe(false);
    }),
);

test(
  "waits for what is written to another database of the server: the rewrite keeps what that could still see",
  { timeout: 60_000 },
  async () =>
    withReader(async ({ url, principal, reader }) => {
      await reader.query("COMMIT");
      const other = await FreshDatabase.create();
      onTestFinished(() => other.drop());
      await withClient(other.url, async (writer) => {
        await writer.query("BEGIN");
        await writer.query("SELECT pg_current_xact_id()");
        const erased = await eraseFromPostgres({ url, options: {} }, principal, 100);
        expect(await isInFiles(url, principal)).toBe(true);
        expect(erased).toMatchObject({ rows: { task: 1 }, isClean: false });
        await writer.query("COMMIT");
      });
      expect(await eraseFromPostgres({ url, options: {} }, principal, 30_000)).toMatchObject({
        isClean: true,
      });
      expect(await isInFiles(url, principal)).toBe(false);
    }),
);

test("says that something is left where one of them goes on", { timeout: 60_000 }, async () =>
  withReader(async ({ url, principal }) => {
    const erased = await eraseFromPostgres({ url, options: {} }, principal, 100);
    expect(erased).toMatchObject({ rows: { task: 1 }, isClean: false });
    expect(await isInFiles(url, principal)).toBe(true);
  }),
);

test(
  "messages for a session that is gone are erased too, whosever session it was",
  { timeout: 60_000 },
  async () => {
    const fresh = await FreshSchema.inSharedDatabase();
    onTestFinished(() => fresh.drop());
    const { url, schema } = fresh;
    const store = postgresStore(url, { schema });
    await store.open({ id: "one", handlers: [] });
    await store.close();
    await withClient(url, async (client) => {
      await client.query(
        `INSERT INTO ${schema}.session_news (owner, session, message) VALUES ('one', 'gone', 'said')`,
      );
      await client.query(`INSERT INTO ${schema}.session_news (owner, session) VALUES ('one', 'gone')`);
      await eraseFromPostgres({ url, options: { schema } }, "erin");
      const { rows } = await client.query(`SELECT message FROM ${schema}.session_news`);
      expect(rows).toEqual([{ message: null }]);
    });
  },
);
