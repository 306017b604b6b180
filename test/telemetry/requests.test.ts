import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it, onTestFinished, vi } from "vitest";
import { text, withoutTasks } from "../kit/messages.ts";
import { serve, type Setup } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { authorsOwn } from "../server/session-server.ts";
import { caller, callerSpan, callerTrace, RecordedSpans } from "./recorded-spans.ts";

const called = { meta: caller };
const poll = "tasks/get";

interface Traced {
  readonly peer: StatelessClient;
  readonly spans: RecordedSpans;
  readonly url: string;
}

async function traced(setup: Partial<Setup> = {}): Promise<Traced> {
  const spans = new RecordedSpans();
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("ship", {}, () => text("shipped"));
      tasks.tool("add", { task: "forbidden" }, () => text("42"));
    },
    server: authorsOwn,
    ...setup,
    options: { telemetry: spans.telemetry, ...setup.options },
  });
  return { peer: new StatelessClient(http.url), spans, url: http.url };
}

it("puts a call, its task and the polls of it in one trace", async () => {
  const { peer, spans } = await traced();
  const id = await peer.start("ship", {}, { ...called, id: "first" });
  await peer.ended(id);
  await spans.ended("execute_tool ship");
  const [call] = spans.named("tools/call ship");
  expect(call?.kind).toBe(SpanKind.SERVER);
  expect(call?.parentSpanContext?.spanId).toBe(callerSpan);
  expect(call?.attributes).toEqual({
    "mcp.method.name": "tools/call",
    "mcp.protocol.version": "2026-07-28",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "ship",
    "jsonrpc.request.id": "first",
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "holdfast.task.id": id,
  });
  const below = spans.tree(callerTrace, callerSpan);
  expect(below.slice(0, 2)).toEqual(["tools/call ship", "  execute_tool ship: settled"]);
  expect(new Set(below.slice(2))).toEqual(new Set([`  ${poll}`]));
  expect(spans.named(poll)[0]?.attributes).toMatchObject({
    "mcp.method.name": poll,
    "holdfast.task.id": id,
  });
});

it("links a poll with a trace of its own to that of its task", async () => {
  const { peer, spans } = await traced();
  const id = await peer.start("ship");
  const trace = spans.named("tools/call ship")[0]?.spanContext().traceId;
  await peer.get(id, called);
  const [span] = spans.named(poll);
  expect(span?.spanContext().traceId).toBe(callerTrace);
  expect(span?.links.map(({ context }) => context.traceId)).toEqual([trace]);
});

it("traces a run without a task below its call", async () => {
  const { peer, spans } = await traced();
  await peer.call("add", {}, called);
  expect(spans.tree(callerTrace, callerSpan)).toEqual(["tools/call add", "  execute_tool add: settled"]);
});

it("traces calls of clients without tasks, whose tasks stand below them", async () => {
  const { peer, spans } = await traced();
  await peer.call("ship", {}, { ...called, capabilities: withoutTasks });
  await spans.ended("execute_tool ship");
  expect(spans.tree(callerTrace, callerSpan)).toEqual(["tools/call ship", "  execute_tool ship: settled"]);
});

it("keeps a stranger's poll out of the trace of the task", async () => {
  const authenticate = async ({ headers }: Request): Promise<string> => headers.get("authorization") ?? "";
  const { peer, spans } = await traced({ http: { authenticate } });
  const as = (authorization: string): object => ({ ...called, headers: { authorization } });
  const id = await peer.start("ship", {}, as("ann"));
  const { error } = await peer.send(poll, { taskId: id }, { headers: { authorization: "bob" } });
  const [span] = spans.named(poll);
  expect(span?.spanContext().traceId).not.toBe(callerTrace);
  expect(span?.links).toEqual([]);
  expect(span?.attributes["holdfast.task.id"]).toBeUndefined();
  expect(span?.attributes["error.type"]).toBe(String(error?.code));
  expect(span?.attributes["rpc.response.status_code"]).toBe(String(error?.code));
  expect(span?.status.code).toBe(SpanStatusCode.ERROR);
});

it("tells names that clients make up from those that there are", async () => {
  const { peer, spans } = await traced();
  await peer.call("no_such_tool", {});
  await peer.send("secret/method");
  await peer.send("ping", {}, { id: "x".repeat(10_000) });
  expect(spans.all.map(({ name }) => name)).toEqual(["tools/call", "_OTHER", "ping"]);
  expect(String(spans.named("ping")[0]?.attributes["jsonrpc.request.id"]).length).toBe(100);
  const said = JSON.stringify(spans.all.map(({ attributes }) => attributes));
  expect(said).not.toMatch(/no_such_tool|secret/);
});

it("traces what the author's server answers, whose handlers see the span", async () => {
  let meta: unknown;
  const { peer, spans } = await traced({
    server: (mcp) => {
      mcp.registerTool("look", {}, ({ mcpReq }) => {
        meta = mcpReq._meta;
        spans.provider.getTracer("author").startSpan("inside").end();
        return text("seen");
      });
      mcp.registerTool("fail", {}, () => ({ ...text("no"), isError: true }));
      mcp.registerResource("note", "test://note", {}, ({ href }) => ({
        contents: [{ uri: href, text: "a" }],
      }));
    },
  });
  await peer.call("look", {}, called);
  await peer.call("fail", {}, called);
  await peer.send("tools/list", {}, called);
  await peer.send(
    "resources/read",
    { uri: "test://note" },
    { ...called, headers: { "Mcp-Name": "test://note" } },
  );
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "tools/call look",
    "  inside",
    "tools/call fail",
    "tools/list",
    "resources/read",
  ]);
  const [look] = spans.named("tools/call look");
  expect(meta).toMatchObject({ traceparent: `00-${callerTrace}-${look?.spanContext().spanId}-01` });
  expect(look?.attributes["gen_ai.tool.name"]).toBe("look");
  expect(spans.named("tools/call fail")[0]?.attributes["error.type"]).toBe("tool_error");
});

it("says that a request was left by its client", async () => {
  const running = Promise.withResolvers<void>();
  const { peer, spans } = await traced({
    tools: (tasks) =>
      tasks.tool("hang", { task: "forbidden" }, async (_, { signal }) => {
        running.resolve();
        await new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error)),
        );
        return text("never");
      }),
  });
  const leaving = new AbortController();
  const left = peer.call("hang", {}, { ...called, signal: leaving.signal }).catch(() => "left");
  await running.promise;
  leaving.abort();
  expect(await left).toBe("left");
  const span = await spans.ended("tools/call hang");
  expect(span.attributes["error.type"]).toBe("cancelled");
  expect(span.status.code).toBe(SpanStatusCode.UNSET);
});

it("traces the requests of a session, and polls", async () => {
  const { spans, url } = await traced();
  const peer = await SessionClient.open(url);
  const { result } = await peer.request("tools/call", { name: "ship", task: {}, _meta: caller });
  const { taskId } = (result as { task: { taskId: string } }).task;
  await peer.request("tasks/result", { taskId });
  await peer.request("tasks/get", { taskId });
  await peer.request("tools/call", { name: "echo", arguments: { say: "a" }, _meta: caller });
  await peer.request("tools/call", { name: "add", _meta: caller });
  expect(spans.named("initialize").length).toBe(1);
  expect(spans.tree(callerTrace, callerSpan)).toEqual([
    "tools/call ship",
    "  execute_tool ship: settled",
    "  tasks/result",
    "  tasks/get",
    "tools/call echo",
    "tools/call add",
    "  execute_tool add: settled",
  ]);
  expect(spans.named("tasks/get")[0]?.attributes).toMatchObject({
    "mcp.protocol.version": "2025-11-25",
    "network.transport": "tcp",
    "holdfast.task.id": taskId,
  });
});

it("traces polls that come without a session", async () => {
  const { spans, url } = await traced({ http: { sessions: false, anonymous: "shared" } });
  const peer = await SessionClient.open(url);
  const { result } = await peer.request("tools/call", { name: "ship", task: {}, _meta: caller });
  const { taskId } = (result as { task: { taskId: string } }).task;
  await peer.request("tasks/get", { taskId });
  await spans.ended("execute_tool ship");
  expect(spans.named("tasks/get")[0]?.spanContext().traceId).toBe(callerTrace);
});

it("says that a request of a session was cancelled", async () => {
  const running = Promise.withResolvers<void>();
  const { spans, url } = await traced({
    server: (mcp) =>
      void mcp.registerTool("hang", {}, async () => {
        running.resolve();
        return new Promise<never>(() => undefined);
      }),
  });
  const peer = await SessionClient.open(url);
  const stream = await peer.post({ id: 77, method: "tools/call", params: { name: "hang" } });
  await running.promise;
  await peer.post({ method: "notifications/cancelled", params: { requestId: 77 } });
  expect((await spans.ended("tools/call")).attributes["error.type"]).toBe("cancelled");
  await stream.body?.cancel();
});

it("finds the trace of a task that another process has made, once", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-requests-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, "tasks.db");
  const first = await traced({ options: { store: sqliteStore(path) } });
  const id = await first.peer.start("ship", {}, called);
  await first.peer.ended(id);
  const store = sqliteStore(path);
  const reads: string[] = [];
  const request = store.request.bind(store);
  store.request = (task) => {
    reads.push(task);
    return request(task);
  };
  const { peer, spans } = await traced({ options: { store } });
  await peer.get(id);
  await peer.get(id);
  await peer.send(poll, { taskId: "none" });
  await vi.waitUntil(() => spans.named(poll).length === 3);
  expect(reads).toEqual([id]);
  const isOfTask = spans.named(poll).map((span) => span.spanContext().traceId === callerTrace);
  expect(isOfTask).toEqual([true, true, false]);
});

it("traces what a client sends to a session that another process has restored, and not what restored it", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-requests-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, "tasks.db");
  const first = await traced({ options: { store: sqliteStore(path) } });
  const peer = await SessionClient.open(first.url);
  await peer.request("logging/setLevel", { level: "warning" });
  const second = await traced({ options: { store: sqliteStore(path) } });
  const moved = new SessionClient(second.url);
  moved.sessionId = peer.sessionId;
  expect(await moved.call("echo", { say: "still here" })).toMatchObject({ result: text("still here") });
  expect(second.spans.all.map(({ name }) => name)).toEqual(["tools/call echo"]);
});
