import type { McpServer } from "@modelcontextprotocol/server";
import { ServerTaskCapabilityEnvelopeV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import * as z from "zod";
import { tasksExtension, text, unstamped } from "../kit/messages.ts";
import { StatelessClient } from "../kit/stateless-client.ts";

/** What an author has beside the tasks. */
function authorsOwn(mcp: McpServer): void {
  mcp.registerTool("plain", { description: "Plain" }, () => text("plain"));
  const outputSchema = z.object({ pages: z.number() });
  mcp.registerTool("counted", { outputSchema }, () => ({ ...text("3"), structuredContent: { pages: 3 } }));
  mcp.registerResource("notes", "notes://all", {}, () => ({ contents: [{ uri: "notes://all", text: "n" }] }));
  mcp.registerPrompt("greet", {}, () => ({
    messages: [{ role: "user", content: { type: "text", text: "hi" } }],
  }));
}

const served = {
  tools: (tasks: Tasks): void => {
    tasks.tool(
      "publish",
      {
        title: "Publish",
        description: "Publishes a report",
        inputSchema: z.object({ month: z.string() }),
        outputSchema: z.object({ pages: z.number() }),
        annotations: { idempotentHint: true },
        _meta: { "example.com/cost": 3 },
      },
      ({ month }) => ({ ...text(month), structuredContent: { pages: month.length } }),
    );
    tasks.tool("bare", {}, (args) => text(JSON.stringify(args)));
  },
  server: authorsOwn,
};

it("advertises the extension, the idempotency key, and nothing of the older tasks [A-48 X-001 X-003 X-B-005 X-P-013]", async () => {
  const peer = await StatelessClient.of(served);
  const result = await peer.result("server/discover");
  expect(result).toMatchObject({
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    ttlMs: expect.any(Number) as unknown,
    cacheScope: expect.stringMatching(/^(?:private|public)$/) as unknown,
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "reports", version: "1.2.3" } },
    capabilities: { tools: {}, resources: {}, prompts: {}, extensions: tasksExtension },
  });
  expect((result["capabilities"] as object & { extensions: unknown }).extensions).toEqual({
    ...tasksExtension,
    "holdfast/idempotencyKey": { keptMs: 24 * 3_600_000 },
  });
  expect(result["capabilities"]).not.toHaveProperty("tasks");
  expect(ServerTaskCapabilityEnvelopeV2Schema.safeParse(result["capabilities"]).success).toBe(true);
});

it("lists the task tools beside the author's, which look as they do alone", async () => {
  const list = async (peer: StatelessClient): Promise<Record<string, unknown>[]> =>
    (await peer.result("tools/list"))["tools"] as Record<string, unknown>[];
  const mixed = await list(await StatelessClient.of(served));
  const alone = await list(await StatelessClient.of({ ...served, tools: () => undefined }));
  expect(mixed.slice(0, 2)).toEqual(alone);
  expect(mixed[2]).toMatchObject({
    name: "publish",
    title: "Publish",
    description: "Publishes a report",
    inputSchema: { type: "object", properties: { month: { type: "string" } }, required: ["month"] },
    outputSchema: { type: "object", properties: { pages: { type: "number" } } },
    annotations: { idempotentHint: true },
    _meta: { "example.com/cost": 3 },
  });
  expect(mixed[3]).toEqual({ name: "bare", inputSchema: { type: "object", properties: {} } });
});

it("leaves the author's tools, resources and prompts to the author, and never makes them tasks [X-011]", async () => {
  const peer = await StatelessClient.of(served);
  expect(unstamped(await peer.result("tools/call", { name: "plain" }))).toEqual({
    ...text("plain"),
    resultType: "complete",
  });
  expect(await peer.result("tools/call", { name: "counted" })).toMatchObject({
    structuredContent: { pages: 3 },
  });
  const notes = { headers: { "Mcp-Name": "notes://all" } };
  expect(await peer.result("resources/read", { uri: "notes://all" }, notes)).toMatchObject({
    resultType: "complete",
    contents: [{ text: "n" }],
  });
  expect(await peer.result("prompts/get", { name: "greet" })).toMatchObject({ resultType: "complete" });
});

it("names the server in its own results too, as the SDK does in its", async () => {
  const peer = await StatelessClient.of(served);
  const meta = { "io.modelcontextprotocol/serverInfo": { name: "reports", version: "1.2.3" } };
  const { result } = await peer.call("publish", { month: "May" });
  expect(result).toMatchObject({ resultType: "task", _meta: meta });
  expect(await peer.ended(result?.["taskId"] as string)).toMatchObject({ _meta: meta });
  const plain = await peer.call("publish", { month: "May" }, { capabilities: {} });
  expect(plain.result).toMatchObject({ resultType: "complete", _meta: meta });
});
