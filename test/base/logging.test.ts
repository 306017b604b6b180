import { McpServer } from "@modelcontextprotocol/server";
import type { TaskClient } from "holdfast/client";
import { expect, it } from "vitest";
import { expectReport, serveBeside, text } from "./beside-tasks.ts";

function talkative(): McpServer {
  const mcp = new McpServer({ name: "talkative", version: "1.0.0" }, { capabilities: { logging: {} } });
  mcp.registerTool("work", {}, async ({ mcpReq }) => {
    await mcpReq.log("debug", { row: 1 }, "database");
    await mcpReq.log("warning", { row: 2, reason: "slow" }, "database");
    await mcpReq.log("error", "no row 3");
    return text("worked");
  });
  return mcp;
}

/** What a client is told, until there are `count` messages. */
function told(client: TaskClient, count: number): Promise<unknown[]> {
  const { promise, resolve } = Promise.withResolvers<unknown[]>();
  const messages: unknown[] = [];
  client.sdk.setNotificationHandler("notifications/message", ({ params }) => {
    messages.push(params);
    if (messages.length === count) resolve(messages);
  });
  return promise;
}

const warning = { level: "warning", logger: "database", data: { row: 2, reason: "slow" } };
const error = { level: "error", data: "no row 3" };

it("tells a client what a tool logs, from the level on that its session wants [B-027]", async () => {
  const client = await (await serveBeside(talkative)).connect("2025-11-25");
  await client.sdk.setLoggingLevel("warning");
  const messages = told(client, 2);
  expect(await client.callTool("work")).toMatchObject(text("worked"));
  expect(await messages).toMatchObject([warning, error]);
  await expectReport(client);
});

it("tells it from the level on that a request names, where there are no sessions [B-027 B-P-004]", async () => {
  const client = await (await serveBeside(talkative)).connect("2026-07-28");
  const messages = told(client, 2);
  const _meta = { "io.modelcontextprotocol/logLevel": "warning" };
  expect(await client.sdk.callTool({ name: "work", arguments: {}, _meta })).toMatchObject(text("worked"));
  expect(await messages).toMatchObject([warning, error]);
  await expectReport(client);
});
