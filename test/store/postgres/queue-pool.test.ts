import { expect, onTestFinished, test } from "vitest";
import { QueuePool } from "../../../src/store/postgres/queue-pool.ts";
import { FreshSchema } from "../../postgres/test-database.ts";

test("takes a connection back once, however often it is given back", async () => {
  const schema = await FreshSchema.inSharedDatabase();
  onTestFinished(() => schema.drop());
  const pool = new QueuePool({ connectionString: schema.url });
  onTestFinished(() => pool.end());
  const released = new Promise<() => void>((resolve, reject) => {
    pool.connect((error, _client, release) => (error === undefined ? resolve(release) : reject(error)));
  });
  const release = await released;
  release();
  expect(pool.idleCount).toBe(1);
  expect(release).not.toThrow();
  expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
});
