import { postgresStore } from "holdfast/postgres";
import { storeContract } from "holdfast/testing";
import { expect, onTestFinished, test, type TestContext } from "vitest";
import { nothingSkipped } from "../contract/nothing-skipped.ts";
import { fullForm } from "../full-form.ts";
import { EmptiedSchemas } from "../postgres/emptied-schemas.ts";
import { PgBouncer } from "../postgres/pgbouncer.ts";
import { FreshDatabase, sharedDatabase } from "../postgres/test-database.ts";
import { Scene } from "./scene.ts";

const timeout = 200_000;
const leaseMs = 5_000;

/** The URL of a database behind a pooler in transaction mode, with fewer connections than one node has. */
async function pooled(database: string, skip: TestContext["skip"]): Promise<string> {
  const pool = await PgBouncer.start(await sharedDatabase(), { poolSize: 6 });
  if (typeof pool === "string") return skip(pool);
  onTestFinished(() => pool.end());
  const url = new URL(pool.url);
  url.pathname = new URL(database).pathname;
  return url.href;
}

test.for([
  ["with a URL past it", (url: string) => ({ leaseMs, directUrl: url })],
  ["without one, so that changes are polled for", () => ({ leaseMs, directUrl: null })],
] as const)("three nodes work through PgBouncer, %s", { timeout }, async ([, options], { skip }) => {
  const fresh = await FreshDatabase.create();
  onTestFinished(() => fresh.drop());
  const at = await pooled(fresh.url, skip);
  const scene = await Scene.open({
    url: fresh.url,
    urlOf: () => at,
    tasks: fullForm ? 200 : 20,
    seed: 1,
    options: options(fresh.url),
  });
  await scene.expectKept();
});

test("the contract holds through PgBouncer", { timeout }, async ({ skip }) => {
  await using schemas = await EmptiedSchemas.inSharedDatabase();
  const { url } = schemas;
  const at = await pooled(url, skip);
  const place = async () => {
    const schema = schemas.take();
    return {
      store: () => postgresStore(at, { schema, directUrl: url }),
      kill: (owner: string) => schemas.endLease(schema, owner),
      remove: () => schemas.giveBack(schema),
    };
  };
  const cases = storeContract({ durable: true, owners: "several", place });
  const failed: string[] = [];
  // In a short form some of them: each asks much of the database.
  for (const [index, { name, run }] of cases.entries()) {
    if (fullForm || index % 10 === 0)
      await run(nothingSkipped).catch((error: unknown) => failed.push(`${name}: ${String(error)}`));
  }
  expect(failed).toEqual([]);
});
