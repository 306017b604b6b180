import { postgresStore, type PostgresStoreOptions } from "holdfast/postgres";
import { expect, onTestFinished, test } from "vitest";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import { DatabaseProxy } from "../../postgres/database-proxy.ts";
import { PgBouncer } from "../../postgres/pgbouncer.ts";
import { FreshDatabase } from "../../postgres/test-database.ts";
import { withClient } from "../../postgres/with-client.ts";

// Engines and poolers that speak the protocol of Postgres are refused when the store opens, unless they do what tasks need.

async function freshDatabase(): Promise<string> {
  const fresh = await FreshDatabase.create();
  onTestFinished(() => fresh[Symbol.asyncDispose]());
  return fresh.url;
}

async function open(url: string, options: PostgresStoreOptions = {}): Promise<void> {
  const store = postgresStore(url, options);
  await store.open({ id: "one", handlers: [] });
  await store.close();
}

async function expectRefusal(opening: Promise<void>, ...words: readonly string[]): Promise<void> {
  const error: unknown = await opening.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "store_unusable" });
  for (const word of words) expect(String(error)).toContain(word);
}

/** The database, with functions of another engine in place of its own. */
async function withFunctions(url: string, functions: Readonly<Record<string, string>>): Promise<string> {
  const made = Object.entries(functions).map(
    ([head, body]) => `CREATE FUNCTION other.${head} LANGUAGE sql AS $$ SELECT ${body} $$`,
  );
  await withClient(url, (client) => client.query(["CREATE SCHEMA other", ...made].join("; ")));
  const other = new URL(url);
  other.searchParams.set("options", "-c search_path=other,pg_catalog");
  return other.href;
}

const saysVersion = (text: string, number: string): Readonly<Record<string, string>> => ({
  "version() RETURNS text": `'${text}'`,
  "current_setting(name text) RETURNS text": `CASE name WHEN 'server_version_num' THEN '${number}' ELSE pg_catalog.current_setting(name) END`,
});

test.each([
  {
    version: "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)",
    number: "130000",
    words: ["The database is CockroachDB CCL,", "advisory locks", "Use Postgres 14 or later"],
  },
  {
    version: "PostgreSQL 11.2-YB-2.20.1.0-b97 on x86_64-pc-linux-gnu",
    number: "110002",
    words: ["The database is PostgreSQL 11.2-YB-2.20.1.0-b97; the store needs Postgres 14 or later"],
  },
])("$version is refused by name", async ({ version, number, words }) => {
  const url = await freshDatabase();
  await expectRefusal(open(await withFunctions(url, saysVersion(version, number))), ...words);
});

test("an engine whose advisory locks lock nothing is refused, whatever it calls itself", async () => {
  const url = await freshDatabase();
  await open(url);
  const free = { "pg_try_advisory_xact_lock(key bigint) RETURNS boolean": "true" };
  await expectRefusal(open(await withFunctions(url, free)), "advisory locks of transactions");
});

test.each([
  { text: "SKIP LOCKED", instead: "           ", words: ["SKIP LOCKED"] },
  { text: "FOR KEY SHARE", instead: "FOR UPDATE   ", words: ["FOR KEY SHARE"] },
  { text: "FOR KEY SHARE", instead: "             ", words: ["row locks"] },
  {
    text: "READ COMMITTED",
    instead: "SERIALIZABLE  ",
    words: ["read committed isolation", "yb_enable_read_committed_isolation"],
  },
])("an engine that takes $text for '$instead' is refused", async ({ text, instead, words }) => {
  const url = await freshDatabase();
  await open(url);
  const proxy = await DatabaseProxy.before(url);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  await open(proxy.url);
  proxy.rewrite([text, instead]);
  await expectRefusal(open(proxy.url), ...words);
});

test("a role whose transactions only read is told what to set", async () => {
  const url = await freshDatabase();
  await open(url);
  const reading = new URL(url);
  reading.searchParams.set("options", "-c default_transaction_read_only=on");
  await expectRefusal(open(reading.href), "only read", "SET default_transaction_read_only = off");
});

test("a role for which NULL in an array is a text can create tasks", async () => {
  const url = new URL(await freshDatabase());
  url.searchParams.set("options", "-c array_nulls=off");
  const registry = new Registry();
  registry.add("greet", {}, () => ({ content: [] }));
  const runtime = createRuntime({ store: postgresStore(url.href), registry });
  await runtime.start();
  onTestFinished(() => runtime.stop());
  const call = {
    generation: "2026-07-28" as const,
    principal: "ann",
    tool: "greet",
    arguments: {},
    origin: { capabilities: {} },
  };
  await expect(runtime.create(call)).resolves.toMatchObject({ task: { tool: "greet" } });
});

/** Some wait for a package to come. */
const patience = { timeout: 200_000 };

async function pooled(skip: (why: string) => never, mode?: "statement") {
  const url = await freshDatabase();
  await open(url);
  const pool = await PgBouncer.start(url, mode && { mode });
  if (typeof pool === "string") return skip(pool);
  onTestFinished(() => pool.end());
  return { url, pool: pool.url };
}

test("a pooler in transaction mode needs another URL to listen, or none", patience, async ({ skip }) => {
  const { url, pool } = await pooled(skip);
  await expectRefusal(open(pool), "directUrl", "loses notifications");
  await open(pool, { directUrl: url });
  await open(pool, { directUrl: null });
});

test("a pooler in statement mode is told to be in another", patience, async ({ skip }) => {
  const { pool } = await pooled(skip, "statement");
  await expectRefusal(open(pool, { directUrl: null }), "statement mode", "pool_mode = transaction");
});

test("a pooler that mixes up prepared statements gets none", patience, async ({ skip }) => {
  const { pool } = await pooled(skip);
  const prepared = open(pool, { directUrl: null, preparedStatements: true });
  await expectRefusal(prepared, "preparedStatements", "max_prepared_statements");
});

test(
  "behind a pooler, a default isolation that statements cannot have is refused",
  patience,
  async ({ skip }) => {
    const { url, pool } = await pooled(skip);
    const { pathname } = new URL(url);
    await withClient(url, (client) =>
      client.query(`ALTER DATABASE ${pathname.slice(1)} SET default_transaction_isolation = serializable`),
    );
    await open(url);
    await expectRefusal(open(pool, { directUrl: null }), "serializable", "default_transaction_isolation");
  },
);
