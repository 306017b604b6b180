import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { PgBouncer } from "./pgbouncer.ts";
import { FreshDatabase, sharedDatabase } from "./test-database.ts";
import { withClient } from "./with-client.ts";

/** Some wait for a package to come. */
const timeout = 200_000;

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

test(
  "many clients share one connection, each for as long as a transaction lasts",
  { timeout },
  async ({ skip }) => {
    const pool = await PgBouncer.start(await sharedDatabase(), { poolSize: 1 });
    if (typeof pool === "string") return skip(pool);
    onTestFinished(() => pool.end());
    const [one, other] = [await connected(pool.url), await connected(pool.url)];
    const processOf = async (client: Client): Promise<unknown> =>
      (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]?.pid;
    expect(await processOf(one)).toBe(await processOf(other));
    await one.query("begin");
    let isServed = false;
    const waiting = processOf(other).then(() => (isServed = true));
    await processOf(one);
    expect(isServed).toBe(false);
    await one.query("commit");
    await waiting;
  },
);

test("the other databases of the server are behind it, too", { timeout }, async ({ skip }) => {
  const pool = await PgBouncer.start(await sharedDatabase());
  if (typeof pool === "string") return skip(pool);
  onTestFinished(() => pool.end());
  await using fresh = await FreshDatabase.create();
  const url = new URL(pool.url);
  url.pathname = new URL(fresh.url).pathname;
  const { rows } = await withClient(url.href, (client) => client.query("select current_database() as name"));
  expect(rows).toEqual([{ name: url.pathname.slice(1) }]);
});
