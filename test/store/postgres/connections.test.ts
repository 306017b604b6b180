import { expect, onTestFinished, test } from "vitest";
import { openPool } from "../../../src/store/postgres/connections.ts";
import { Database } from "../../../src/store/postgres/database.ts";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { FreshSchema, sharedDatabase } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

test("a statement for which nobody waits may fail", async () => {
  const database = new Database(
    await openPool({ url: await sharedDatabase(), max: 2, timeoutMs: 5_000 }),
    5_000,
  );
  onTestFinished(() => database.close());
  const unhandled: unknown[] = [];
  const hear = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", hear);
  onTestFinished(() => void process.off("unhandledRejection", hear));
  const transaction = await database.begin();
  void transaction.query("SELECT 1 / 0");
  await expect(transaction.commit()).rejects.toThrow("division by zero");
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

test("a renewal of the lease waits for no read, however many there are", async () => {
  const fresh = await FreshSchema.inSharedDatabase();
  onTestFinished(() => fresh.drop());
  const store = postgresStore(fresh.url, { schema: fresh.schema, maxConnections: 2 });
  await store.open({ id: "one", handlers: [] });
  onTestFinished(() => store.close());
  const reads = await withClient(fresh.url, async (client) => {
    await client.query(`BEGIN; LOCK TABLE ${fresh.schema}.journal IN ACCESS EXCLUSIVE MODE`);
    const waiting = Array.from({ length: 20 }, (_, n) => store.journalEntry(`task-${n}`, "key"));
    expect(await store.renew()).toMatchObject({ held: true });
    await client.query("ROLLBACK");
    return waiting;
  });
  expect(await Promise.all(reads)).toEqual(Array.from({ length: 20 }, () => undefined));
});
