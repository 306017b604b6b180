import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "holdfast/client";
import { expect, it } from "vitest";
import { example, newFolder, runExample, serveExample } from "../docs/example-process.ts";

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
