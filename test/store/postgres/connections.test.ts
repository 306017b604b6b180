import { expect, onTestFinished, test } from "vitest";
import { openPool } from "../../../src/store/postgres/connections.ts";
import { Database } from "../../../src/store/postgres/database.ts";
import { sharedDatabase } from "../../postgres/test-database.ts";

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
