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

it("shows a tool that waits for a webhook, through a restart, and a webhook that comes twice", async () => {
  const folder = await newFolder();
  const first = await serveExample("guides/webhook.ts", folder);
  const client = await connect(first.url);
  const purchase = await client.startTool("buy", { item: "tea" });
  const invoice = (): Promise<string> => readFile(join(folder, "invoices.txt"), "utf8").catch(() => "");
  await expect.poll(invoice, { timeout: 10_000 }).toMatch(/ tea /);
  const [reference = ""] = (await invoice()).split(" ");
  expect(await first.stop()).toEqual([0, null]);

  const second = await serveExample("guides/webhook.ts", folder, { PORT: new URL(first.url).port });
  const send = async (payment: object, secret = "secret"): Promise<number> => {
    const body = JSON.stringify(payment);
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const url = new URL("/webhooks/payments", second.url);
    return (await fetch(url, { method: "POST", headers: { "x-signature": signature }, body })).status;
  };
  const payment = { id: "delivery 1", reference, sum: 3 };
  expect(await send(payment, "guessed")).toBe(401);
  expect(await send({ ...payment, sum: "much" })).toBe(400);
  expect(await send({ ...payment, reference: "nobody" })).toBe(410);
  expect(await send(payment)).toBe(204);
  expect((await purchase.result()).content).toEqual([{ type: "text", text: "tea bought for 3" }]);
  expect(await send(payment)).toBe(410);
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
