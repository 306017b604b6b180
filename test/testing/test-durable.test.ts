import { McpServer } from "@modelcontextprotocol/server";
import { durable, type Tasks } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { testTasks } from "holdfast/testing";
import { expect, it } from "vitest";
import * as z from "zod";
import { text } from "../runtime/harness.ts";

const requestedSchema = { type: "object" as const, properties: {} };

function makeServer(): McpServer {
  const server = new McpServer({ name: "reports", version: "1.0.0" });
  const inputSchema = z.object({ month: z.string() });
  server.registerTool("report", { task: "optional", inputSchema }, async ({ month }, ctx) => {
    const rows = await ctx.task.step("query", () => [`${month}-01`, `${month}-02`]);
    const { action } = await ctx.mcpReq.elicitInput({ message: `Send ${rows.length}?`, requestedSchema });
    await ctx.task.sleep("cool off", 48 * 3_600_000);
    return text(await ctx.task.step("send", () => `${action} ${rows.length}`));
  });
  server.registerTool("now", {}, () => text("the SDK's"));
  return server;
}

it("tests a server of durable(): it dies, asks, sleeps and goes on", async () => {
  await using t = await testTasks({ durable: makeServer });
  const crashed = t.crash({ after: "query" });
  const task = await t.start("report", { month: "2026-10" });
  await crashed;
  await t.restart();
  const { params } = await task.question("ctx.elicitInput 1");
  expect(params["message"]).toBe("Send 2?");
  await task.answer("ctx.elicitInput 1", { action: "accept" });
  await t.clock.advance("47h");
  expect(await task.status()).toBe("working");
  const sending = t.crash({ before: "send" });
  await t.clock.advance("1h");
  await sending;
  await t.restart();
  expect(await task.result()).toMatchObject(text("accept 2"));
  await task.assertJournal(["query", "ctx.elicitInput 1", "cool off", "send"]);
  expect([t.runs("query"), t.runs("send")]).toEqual([1, 2]);
  expect(await t.call("now")).toMatchObject(text("the SDK's"));
});

it("takes the options of durable, and tools beside those of the server", async () => {
  const register = (tasks: Tasks): void => {
    tasks.tool("who", {}, (_, task) => text(String(task.caller.principal)));
  };
  const factory = (): Promise<McpServer> => Promise.resolve(makeServer());
  await using t = await testTasks({ durable: factory, register }, { caller: "ann" });
  expect(await t.call("who")).toMatchObject(text("ann"));
  t.answers({ "ctx.elicitInput 1": { action: "decline" } });
  const task = await t.start("report", { month: "2026-10" });
  await t.clock.advance("2d");
  expect(await task.result()).toMatchObject(text("decline 2"));
});

it("says what to give instead of a server that is made", async () => {
  const server = durable(makeServer, { store: memoryStore() });
  // @ts-expect-error: what JavaScript can give
  await expect(testTasks(server)).rejects.toThrow("testTasks({ durable: makeServer }, options)");
  await expect(testTasks({ durable: makeServer }, { server: makeServer })).rejects.toThrow(
    "leave out the option server",
  );
});
