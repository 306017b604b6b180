import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema, CreateMessageRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ServerEvent, Tasks } from "holdfast";
import { connect } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { readEvents } from "../../../src/client/transport/server-sent-events.ts";
import { text } from "../../kit/messages.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { Job, ticketOf } from "../plain/job.ts";
import { hostSse, oldClient, tokenOf } from "./sse-host.ts";

/** A tool that asks the user and the model, and says how far it is. */
function addReport(tasks: Tasks): void {
  tasks.tool("report", { requires: ["elicitation", "sampling"] }, async (_args, task) => {
    task.progress(1, 2);
    const asked = await task.elicit("to", {
      message: "To whom?",
      requestedSchema: { type: "object", properties: { to: { type: "string" } } },
    });
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: "Sum up" } }];
    const { content } = await task.sample("sum", { messages, maxTokens: 10 });
    return text(`${String(asked.content?.["to"])}: ${JSON.stringify(content)}`);
  });
}

const jsonHeaders = { "content-type": "application/json" };
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

/** The stream of an old client, event by event. */
async function openStream(url: string, headers: Record<string, string> = {}) {
  const { body } = await fetch(url, { headers: { accept: "text/event-stream", ...headers } });
  if (body === null) throw new Error("No stream");
  const events = readEvents(body);
  onTestFinished(async () => void (await events.return()));
  const next = async () => (await events.next()).value ?? undefined;
  const endpoint = await next();
  return { endpoint, messages: new URL(endpoint?.data ?? "", url), next };
}

it("says first where messages are to be posted, and sends the answers as message events [B-118]", async () => {
  const { sse } = await hostSse((tasks) => tasks.tool("add", {}, () => text("3")));
  const { endpoint, messages, next } = await openStream(sse);
  expect(endpoint).toMatchObject({
    type: "endpoint",
    data: expect.stringMatching(/^\/messages\?sessionId=[-\da-f]{36}$/),
  });
  const post = async (message: object) =>
    fetch(messages, { method: "POST", headers: jsonHeaders, body: JSON.stringify(message) });
  const accepted = await post(initialize);
  expect([accepted.status, await accepted.text()]).toEqual([202, "Accepted"]);
  const { type, data = "" } = (await next()) ?? {};
  expect([type, JSON.parse(data)]).toMatchObject([
    "message",
    { id: 1, result: { protocolVersion: "2024-11-05", serverInfo: { name: "reports" } } },
  ]);
  await post({ jsonrpc: "2.0", method: "notifications/initialized" });
  await post({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "add", arguments: {} } });
  expect(JSON.parse((await next())?.data ?? "")).toMatchObject({ id: 2, result: text("3") });
});

it("serves old clients beside those of Streamable HTTP: calls, progress and questions [B-040 B-116]", async () => {
  const { sse, mcp } = await hostSse(addReport);
  const client = await oldClient(sse, { capabilities: { elicitation: { form: {} }, sampling: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { to: "Ann" } }));
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: "assistant",
    model: "none",
    content: { type: "text", text: "all well" },
  }));
  const reports: unknown[] = [];
  const result = await client.callTool({ name: "report", arguments: {} }, undefined, {
    onprogress: (report) => reports.push(report),
  });
  expect(result).toMatchObject(text('Ann: {"type":"text","text":"all well"}'));
  expect(reports).toContainEqual(expect.objectContaining({ progress: 1, total: 2 }));
  const { result: listed } = await new StatelessClient(mcp).send("tools/list");
  expect(listed).toMatchObject({
    tools: expect.arrayContaining([expect.objectContaining({ name: "report" })]),
  });
});

it("keeps a call whose stream broke: a new connection, of either transport, gets its result by the ticket [B-040]", async () => {
  const job = new Job();
  const { sse, mcp, drop } = await hostSse((tasks) =>
    job.add(tasks, { plain: "ticket", plainDeadlineMs: 20 }),
  );
  const first = await oldClient(sse, { token: tokenOf("ann") });
  const { reference, status } = ticketOf(await first.callTool({ name: "job", arguments: {} }));
  expect(status).toBe("working");
  drop();
  const second = await oldClient(sse, { token: tokenOf("ann") });
  const call = { name: "task_result", arguments: { reference } };
  expect(ticketOf(await second.callTool(call))).toMatchObject({ status: "working", reference });
  const foreign = await oldClient(sse, { token: tokenOf("bob") });
  expect(await foreign.callTool(call)).toMatchObject({ isError: true });
  job.end();
  const headers = { authorization: `Bearer ${tokenOf("ann")}` };
  const newer = new Client({ name: "newer", version: "1" });
  const transport: object = new StreamableHTTPClientTransport(new URL(mcp), { requestInit: { headers } });
  await newer.connect(transport as Transport); // the SDK's own types disagree on what may be undefined
  onTestFinished(() => newer.close());
  expect(await newer.callTool(call)).toMatchObject(text("run 1"));
  expect(job.runs).toBe(1);
});

it("joins a call that is repeated after its stream broke to the task of the first one [B-040]", async () => {
  const job = new Job();
  const { sse, drop } = await hostSse((tasks) => job.add(tasks, { plain: "wait", joinCalls: true }));
  const first = await oldClient(sse, { token: tokenOf("ann") });
  const lost = first.callTool({ name: "job", arguments: {} }).catch(() => "lost");
  await job.begun.promise;
  await first.close();
  drop();
  expect(await lost).toBe("lost");
  const second = await oldClient(sse, { token: tokenOf("ann") });
  const call = second.callTool({ name: "job", arguments: {} });
  job.end();
  expect(await call).toMatchObject(text("run 1"));
  expect(job.runs).toBe(1);
});

it("has tasks over HTTP+SSE for clients that have them [B-040]", async () => {
  const job = new Job();
  const { sse } = await hostSse((tasks) => job.add(tasks));
  const headers = { authorization: `Bearer ${tokenOf("ann")}` };
  const client = await connect(sse, { headers });
  const handle = await client.startTool("job");
  expect(handle.reference).toMatchObject({ generation: "2025-11-25" });
  await client.close();
  const again = await connect(sse, { headers });
  onTestFinished(() => again.close());
  job.end();
  const found = await again.resume(handle.reference);
  expect(await found.result()).toMatchObject(text("run 1"));
  const foreign = await connect(sse, { headers: { authorization: `Bearer ${tokenOf("bob")}` } });
  onTestFinished(() => foreign.close());
  await expect((await foreign.resume(handle.reference)).result()).rejects.toMatchObject({
    code: "unknown_task",
  });
});

it.each([
  ["another caller", { authorization: `Bearer ${tokenOf("bob")}` }],
  ["nobody", {}],
])("drops what %s posts to the connection of a caller", async (_, sender) => {
  const events: ServerEvent[] = [];
  const refused = Promise.withResolvers<void>();
  const { sse } = await hostSse((tasks) => tasks.tool("add", {}, () => text("3")), {
    onEvent: (event) => {
      if (event.type !== "request.refused") return;
      events.push(event);
      refused.resolve();
    },
  });
  const owner = { authorization: `Bearer ${tokenOf("ann")}` };
  const { messages, next } = await openStream(sse, owner);
  const post = async (headers: Record<string, string>, id: number) =>
    fetch(messages, {
      method: "POST",
      headers: { ...jsonHeaders, ...headers },
      body: JSON.stringify({ ...initialize, id }),
    });
  await post(sender, 1);
  await refused.promise;
  await post(owner, 2);
  expect(JSON.parse((await next())?.data ?? "")).toMatchObject({ id: 2, result: {} });
  expect(events).toMatchObject([{ code: "unauthenticated", method: "initialize" }]);
});

it("holds messages to the limits of their depth and of their values", async () => {
  const { sse } = await hostSse((tasks) => tasks.tool("add", {}, () => text("3")), {
    maxNesting: 20,
    maxNodes: 1_000,
  });
  const { messages, next } = await openStream(sse);
  let deep: unknown = {};
  for (let level = 0; level < 30; level++) deep = { deep };
  for (const [params, message] of [
    [{ deep }, /nested more than 20 levels/],
    [{ many: Array.from({ length: 2_000 }, () => 1) }, /more than 1000 values/],
  ] as const) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list", params });
    await fetch(messages, { method: "POST", headers: jsonHeaders, body });
    expect(JSON.parse((await next())?.data ?? "")).toMatchObject({
      id: 7,
      error: { code: -32600, message: expect.stringMatching(message) },
    });
  }
});
