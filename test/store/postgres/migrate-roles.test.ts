import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { Registry } from "../../../src/runtime/tool/registry.ts";
import { migrations } from "../../../src/store/postgres/schema.ts";
import { migratePostgres } from "../../../src/store/postgres/migrate.ts";
import type { PostgresStoreOptions } from "../../../src/store/postgres/options.ts";
import { postgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { OwnServer } from "../../postgres/own-server.ts";
import { withClient } from "../../postgres/with-client.ts";

// Roles are those of a whole server, which for these tests has to be nobody else's.
let server: OwnServer;
beforeAll(async () => {
  server = await OwnServer.start({ fsync: "off" });
  await admin(`CREATE ROLE app LOGIN`);
}, 60_000);
afterAll(() => server.end());

async function admin(sql: string): Promise<void> {
  await withClient(server.url, (client) => client.query(sql));
}

/** The database for a role that owns nothing of it. */
function asApp(): string {
  const url = new URL(server.url);
  url.username = "app";
  return url.href;
}

async function expectRuns(options: PostgresStoreOptions): Promise<void> {
  const registry = new Registry();
  registry.add("word", {}, async () => ({ content: [{ type: "text", text: "said" }] }));
  const runtime = createRuntime({ store: postgresStore(asApp(), options), registry });
  await runtime.start();
  onTestFinished(() => runtime.stop());
  const ann = { generation: "2026-07-28" as const, principal: "ann" };
  const origin = { capabilities: {} };
  const { task } = await runtime.create({ ...ann, tool: "word", arguments: {}, origin });
  await expect.poll(async () => (await runtime.get(task.id, ann)).task.state).toBe("settled");
}

test("a role that may make nothing is told what to do", async () => {
  const open = postgresStore(asApp(), { schema: "missing" }).open({ id: "one", handlers: [] });
  await expect(open).rejects.toMatchObject({
    code: "store_unusable",
    message:
      "Schema missing cannot be migrated: permission denied for database postgres. " +
      'Run "holdfast migrate URL --schema missing" as a role with that permission, or give this role the schema: CREATE SCHEMA missing AUTHORIZATION ….',
  });
});

test("a role that may make no schema can be given it", async () => {
  await admin("CREATE SCHEMA given AUTHORIZATION app");
  await expectRuns({ schema: "given" });
});

test("a role that may only read and write works with what another one migrated", async () => {
  const migration = { schema: "apart", from: 0, to: migrations.length };
  const options = { schema: "apart" };
  expect(await migratePostgres(server.url, { ...options, dryRun: true })).toEqual(migration);
  expect(await migratePostgres(server.url, options)).toEqual(migration);
  expect(await migratePostgres(server.url, options)).toEqual({ ...migration, from: migrations.length });
  await admin("GRANT USAGE ON SCHEMA apart TO app");
  await admin("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA apart TO app");
  await expectRuns({ ...options, migrate: false });
});

test("a role without rights to the tables is refused with what the database says", async () => {
  await migratePostgres(server.url, { schema: "shut" });
  const store = postgresStore(asApp(), { schema: "shut" });
  await expect(store.open({ id: "one", handlers: [] })).rejects.toMatchObject({
    code: "store_unusable",
    message: expect.stringMatching(/permission denied for schema shut\.$/) as string,
  });
});

test("a database of another encoding is refused", async () => {
  await admin("CREATE DATABASE narrow TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'");
  const url = new URL(server.url);
  url.pathname = "/narrow";
  await expect(migratePostgres(url.href)).rejects.toMatchObject({
    code: "store_unusable",
    message: "The database has the encoding LATIN1; the store needs UTF8.",
  });
});
