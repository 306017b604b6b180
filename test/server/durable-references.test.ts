import { PassThrough } from "node:stream";
import {
  inputRequired,
  type McpRequestContext,
  type McpServer,
  type RegisteredTool,
} from "@modelcontextprotocol/server";
import { durable } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { making, serveDurable } from "./durable-server.ts";
import { text, withoutTasks } from "../kit/messages.ts";
import type { StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";

const month = z.object({ month: z.string() });
const direct = { capabilities: withoutTasks };

async function listed(peer: StatelessClient): Promise<Record<string, object>> {
  const { tools } = (await peer.result("tools/list")) as { tools: { name: string }[] };
  return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
}

/** A factory that keeps what registerTool returns in each of its runs. */
function keeping(register: (server: McpServer, context: McpRequestContext) => RegisteredTool) {
  const references: RegisteredTool[] = [];
  const factory = (context: McpRequestContext): McpServer =>
    making((server) => references.push(register(server, context)))();
  return { factory, references };
}

function onlyOne<T>(all: readonly T[]): T {
  const [one] = all;
  if (one === undefined) throw new Error("There is none.");
  return one;
}

const report = (server: McpServer): RegisteredTool =>
  server.registerTool("report", { task: "optional", inputSchema: month }, (args) => text(args.month));

it("disables, enables and removes a tool for all clients, as the SDK says it", async () => {
  const { factory, references } = keeping(report);
  const { peer, errors } = await serveDurable(factory);
  const tool = onlyOne(references);
  expect(tool.enabled).toBe(true);

  tool.disable();
  expect(tool.enabled).toBe(false);
  expect(await listed(peer)).not.toHaveProperty("report");
  const refused = await peer.call("report", { month: "2026-10" });
  expect(refused.error?.message).toContain("Tool report disabled");

  tool.enable();
  expect(tool.enabled).toBe(true);
  expect(await peer.ended(await peer.start("report", { month: "2026-10" }))).toMatchObject({
    result: text("2026-10"),
  });

  tool.update({ enabled: false });
  expect(tool.enabled).toBe(false);
  tool.update({ enabled: true, description: "Makes it" });
  expect(tool.enabled).toBe(true);

  tool.remove();
  tool.remove();
  expect(tool.enabled).toBe(false);
  expect(await listed(peer)).not.toHaveProperty("report");
  expect(errors).toEqual([]);
});

it("updates what a tool says, and what it does", async () => {
  const { factory, references } = keeping(report);
  const { peer } = await serveDurable(factory);
  const tool = onlyOne(references);
  const before = tool.handler;

  const annotations = { readOnlyHint: true };
  tool.update({
    name: "report",
    title: "Report",
    description: "Makes it",
    annotations,
    _meta: { "x.y/z": 1 },
  });
  expect(tool).toMatchObject({ title: "Report", description: "Makes it", annotations });
  expect(tool.handler).toBe(before);
  expect((await listed(peer))["report"]).toMatchObject({
    title: "Report",
    description: "Makes it",
    annotations,
    _meta: { "x.y/z": 1 },
    inputSchema: { properties: { month: { type: "string" } } },
  });

  tool.update({ callback: (args) => text(`for ${JSON.stringify(args)}`) });
  expect((await peer.call("report", { month: "2026-10" }, direct)).result).toMatchObject(
    text('for {"month":"2026-10"}'),
  );

  tool.update({
    paramsSchema: z.object({ year: z.number() }),
    outputSchema: z.object({ url: z.string() }),
    callback: (args) => ({ ...text("made"), structuredContent: { url: `/${JSON.stringify(args)}` } }),
  });
  expect(tool.description).toBe("Makes it");
  expect((await peer.call("report", { month: "2026-10" }, direct)).result).toMatchObject({ isError: true });
  expect(await peer.ended(await peer.start("report", { year: 2026 }))).toMatchObject({
    result: { structuredContent: { url: '/{"year":2026}' } },
  });
  expect((await listed(peer))["report"]).toMatchObject({
    inputSchema: { properties: { year: { type: "number" } } },
    outputSchema: { properties: { url: { type: "string" } } },
  });
});

it("lets a call end with the handler that it began with", async () => {
  const form = { message: "Sure?", requestedSchema: { type: "object" as const, properties: {} } };
  const { factory, references } = keeping((server) =>
    server.registerTool("asks", { task: { requires: ["elicitation"] } }, ({ mcpReq }) =>
      mcpReq.inputResponses === undefined
        ? inputRequired({ inputRequests: { sure: inputRequired.elicit(form) } })
        : text("old"),
    ),
  );
  const { peer } = await serveDurable(factory);
  const taskId = await peer.start("asks");
  await peer.until(taskId, "input_required");
  onlyOne(references).update({ callback: () => text("new") });
  const inputResponses = { "ctx.inputRequired 1 sure": { action: "accept" } };
  await peer.result("tasks/update", { taskId, inputResponses });
  expect(await peer.ended(taskId)).toMatchObject({ result: text("old") });
  expect(await peer.ended(await peer.start("asks"))).toMatchObject({ result: text("new") });
});

it("changes nothing by an update that cannot be", async () => {
  const { factory, references } = keeping(report);
  const { peer } = await serveDurable(factory);
  const tool = onlyOne(references);
  // @ts-expect-error: no schema
  expect(() => tool.update({ description: "Other", paramsSchema: 5 })).toThrow();
  expect(tool.description).toBe(undefined);
  expect((await listed(peer))["report"]).not.toHaveProperty("description");
});

it("takes changes within the function, for all clients alike", async () => {
  const { factory, references } = keeping((server) => {
    const tool = report(server);
    tool.update({ description: "Not yet" });
    tool.disable();
    return tool;
  });
  const { peer, errors } = await serveDurable(factory);
  expect(await listed(peer)).not.toHaveProperty("report");
  const tool = onlyOne(references);
  tool.enable();
  expect((await listed(peer))["report"]).toMatchObject({ description: "Not yet" });
  tool.update({ description: "Makes it" });
  // The server of each client is made by the same function, which takes nothing of that back.
  expect((await listed(peer))["report"]).toMatchObject({ description: "Makes it" });
  expect(tool.enabled).toBe(true);
  expect(errors).toEqual([]);
});

it("refuses to disable or to change a tool for one client of many", async () => {
  const { factory, references } = keeping((server, { requestInfo }) => {
    const tool = report(server);
    if (requestInfo?.headers.get("x-guest") === "yes") tool.disable();
    return tool;
  });
  const { peer, errors } = await serveDurable(factory);
  const guest = await peer.send("tools/list", {}, { headers: { "x-guest": "yes" } });
  expect(guest.error?.code).toBe(-32603);
  expect(errors.map(String)).toEqual([
    expect.stringContaining('Tool "report" was enabled, disabled or removed for this client only'),
  ]);

  await listed(peer);
  const ofClient = references.at(-1);
  const sameForAll = 'Tool "report" is shared by all clients';
  expect(() => ofClient?.disable()).toThrow(sameForAll);
  expect(() => ofClient?.remove()).toThrow(sameForAll);
  expect(() => ofClient?.update({ description: "Other" })).toThrow(sameForAll);
  expect(() => ofClient?.update({ callback: () => text("other") })).toThrow(sameForAll);
  ofClient?.enable(); // which it is
  onlyOne(references).update({ description: "Other", enabled: false });
  ofClient?.update({ description: "Other", enabled: false }); // so that a listener in the function may do it
  expect(ofClient).toMatchObject({ description: "Other", enabled: false });
  expect(() => ofClient?.enable()).toThrow(sameForAll);
  onlyOne(references).remove();
  ofClient?.remove();
});

it.each(["legacy", { pin: "2026-07-28" }] as const)("tells clients, in mode %j", async (mode) => {
  const { factory, references } = keeping(report);
  const { url } = await serveDurable(factory);
  const heard = Promise.withResolvers<void>();
  const tools = { autoRefresh: false, debounceMs: 0, onChanged: () => heard.resolve() };
  const client = new Client(
    { name: "listening", version: "1.0.0" },
    { versionNegotiation: { mode }, listChanged: { tools } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  const tool = onlyOne(references);
  tool.disable();
  await heard.promise;
  const { tools: now } = await client.listTools(undefined, { cacheMode: "refresh" });
  expect(now.map(({ name }) => name)).not.toContain("report");
});

it("lets the one client of a pipe have its server change tools", async () => {
  const { factory, references } = keeping((server) => {
    const tool = report(server);
    tool.disable();
    server.registerTool("unlock", {}, () => {
      tool.enable();
      return text("unlocked");
    });
    return tool;
  });
  const server = durable(factory, { store: memoryStore(), stopDeadlineMs: 100 });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const stdio = await serveStdio(server, { stdin, stdout });
  onTestFinished(() => stdio.close());
  const pipe = new StdioClient(stdin, stdout);
  await pipe.request("tools/call", { name: "unlock", arguments: {} });
  expect(onlyOne(references).enabled).toBe(true);
  expect(await pipe.start("report", { month: "2026-10" })).toMatch(/./);
});
