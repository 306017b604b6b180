import { expect, onTestFinished, test } from "vitest";
import { eraseFromPostgres } from "../../../src/store/postgres/erase-postgres.ts";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { createQueued, noon } from "../../../src/testing/sample-task.ts";
import { FreshSchema } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

const room = { unfinished: 1_000, retained: 1_000 };

test(
  "a task that a server deletes meanwhile is counted once, and not twice, among those that are gone",
  { timeout: 60_000 },
  async () => {
    const fresh = await FreshSchema.inSharedDatabase();
    onTestFinished(() => fresh.drop());
    const { url, schema } = fresh;
    const store = postgresStore(url, { schema, queue: false });
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

test("what was told of a session that is gone goes too, whosever it was", { timeout: 60_000 }, async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const { url, schema } = fresh;
  const store = postgresStore(url, { schema, queue: false });
  await store.open({ id: "one", handlers: [] });
  await store.close();
  await withClient(url, async (client) => {
    await client.query(`INSERT INTO ${schema}.told (owner, session, message) VALUES ('one', 'gone', 'said')`);
    await client.query(`INSERT INTO ${schema}.told (owner, session) VALUES ('one', 'gone')`);
    await eraseFromPostgres({ url, options: { schema } }, "erin");
    const { rows } = await client.query(`SELECT message FROM ${schema}.told`);
    expect(rows).toEqual([{ message: null }]);
  });
});
