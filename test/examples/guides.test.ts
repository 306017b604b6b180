import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { migrations } from "../../src/store/postgres/schema.ts";
import { example, newFolder, runExample, serveExample } from "../docs/example-process.ts";
import { FreshDatabase } from "../postgres/test-database.ts";

it("shows a server and clients that do what the guides say", async () => {
  const folder = await newFolder();
  const server = await serveExample("guides/server.ts", folder);
  const output = await runExample("guides/client.ts", [server.url], folder);
  expect(output.match(/sent 2 rows/g)).toHaveLength(2);
  expect(output.match(/Send 2 rows\?/g)).toHaveLength(2);
  const pending = (): Promise<string> => runExample("guides/pending.ts", [server.url], folder);
  expect(await pending()).toBe("");
  expect((await pending()).match(/publish_report.*\n?.*sent 2 rows/g)).toHaveLength(1);
  expect(await server.stop()).toEqual([0, null]);
  const sent = (await readFile(join(folder, "outbox.txt"), "utf8")).split("\n").filter(Boolean);
  expect(sent.map((mail) => mail.replace(/^\S+ /, ""))).toEqual([
    "2026-10-01 42, 2026-10-02 17",
    "2026-11-01 42, 2026-11-02 17",
    "2026-12-01 42, 2026-12-02 17",
  ]);
});

it("shows a tool that stores a file, and a client that saves it", async () => {
  const folder = await newFolder();
  const server = await serveExample("guides/export.ts", folder);
  const output = await runExample("guides/save-export.ts", [server.url], folder);
  expect(output).toBe("rows.csv: 1642666 bytes of text/csv\n");
  const rows = (await readFile(join(folder, "rows.csv"), "utf8")).split("\n");
  expect([rows.length, rows[100_000]]).toEqual([100_002, "100000,10000000000"]);
  expect(await server.stop()).toEqual([0, null]);
});

it("shows a server on stdio", async () => {
  const folder = await newFolder();
  const client = await connect({
    command: process.execPath,
    args: [example("guides/stdio.ts")],
    cwd: folder,
  });
  const { content } = await client.callTool("greet", { name: "Ann" });
  expect(content).toEqual([{ type: "text", text: "Hello, Ann" }]);
  await client.close();
});

it("shows a tool whose handler and steps are tried again", async () => {
  const folder = await newFolder();
  const client = await connect({
    command: process.execPath,
    args: [example("guides/retries.ts")],
    cwd: folder,
  });
  const { content } = await client.callTool("order", { item: "tea" });
  expect(content).toEqual([{ type: "text", text: "order 42: tea for 3" }]);
  const refused = await client.callTool("order", { item: "salt" });
  expect(refused).toMatchObject({ isError: true, content: [{ text: "The shop has no salt." }] });
  await client.close();
});

it("shows a server of recipes, in which a webhook ends a wait after a restart", async () => {
  const folder = await newFolder();
  const env = { WEBHOOK_SECRET: "a secret" };
  const first = await serveExample("recipes/server.ts", folder, env);
  const client = await connect(first.url);
  const release = await client.startTool("release", { version: "1.2.0" });
  const outbox = (): Promise<string> => readFile(join(folder, "outbox.txt"), "utf8").catch(() => "");
  await expect.poll(outbox, { timeout: 30_000 }).toMatch(/ Publish 1\.2\.0\?/);
  const [reference = ""] = (await outbox()).split(" ");
  expect(await first.stop()).toEqual([0, null]);

  const second = await serveExample("recipes/server.ts", folder, { ...env, PORT: new URL(first.url).port });
  const body = JSON.stringify({ id: "delivery 1", reference, approved: false, by: "Ann" });
  const headers = { "x-signature": createHmac("sha256", env.WEBHOOK_SECRET).update(body).digest("hex") };
  const url = new URL("/webhooks/decisions", second.url);
  expect((await fetch(url, { method: "POST", headers, body })).status).toBe(204);
  expect((await release.result()).content).toEqual([{ type: "text", text: "Ann has refused 1.2.0." }]);
  await client.close();
  expect(await second.stop()).toEqual([0, null]);
});

it("shows a script that migrates a database", async () => {
  const database = await FreshDatabase.create();
  onTestFinished(() => database.drop());
  const env = { DATABASE_URL: database.url };
  const migrate = async (): Promise<string> => runExample("guides/migrate.ts", [], await newFolder(), env);
  expect(await migrate()).toBe(`holdfast went from version 0 to ${migrations.length}.\n`);
  expect(await migrate()).toBe("holdfast is up to date.\n");
});
