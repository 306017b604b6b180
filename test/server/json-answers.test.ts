import type { CallToolResult } from "@modelcontextprotocol/server";
import type { PrepareContext, Tasks } from "holdfast";
import type { HttpOptions } from "holdfast/http";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { formClient, text, type Message } from "../kit/messages.ts";
import { serve, type Served } from "../kit/server.ts";
import { EventStream, messagesOf, SessionClient } from "../kit/session-client.ts";
import { listenParams, listenTo } from "../kit/subscription.ts";
import { withTask } from "../../src/generation/sep-1686.ts";
import { rest } from "../../src/testing/clocks.ts";
import { addConfirm, Job } from "./plain/job.ts";
import { form } from "./prepare-caller.ts";
import { processes } from "./restarted-sessions.ts";
import { authorsOwn } from "./session-server.ts";

const json = "application/json";
const jsonOnly = { headers: { accept: json } };

async function started(http: HttpOptions = {}): Promise<Served & { job: Job }> {
  const job = new Job();
  const served = await serve({
    tools: (tasks) => {
      tasks.tool("bare", {}, () => text("bare"));
      addConfirm(tasks);
      const prepare = async (_args: object, ask: PrepareContext): Promise<string> =>
        (await ask.elicit("ok", form("Sure?"))).action;
      tasks.tool("direct", { task: "forbidden", prepare }, (_args, task) => text(task.prepared));
      job.add(tasks, { joinCalls: true });
    },
    server: authorsOwn,
    http: { anonymous: "shared", ...http },
  });
  onTestFinished(job.end);
  return { ...served, job };
}

async function answerOf(response: Response): Promise<Message> {
  expect([response.status, response.headers.get("content-type")]).toEqual([200, json]);
  return (await response.json()) as Message;
}

async function taskOf(peer: SessionClient, tool: string): Promise<string> {
  const { result } = await peer.request("tools/call", { name: tool, arguments: {}, task: {} });
  return (result as { task: { taskId: string } }).task.taskId;
}

describe.each<[string, HttpOptions, object]>([
  ["whose client accepts nothing else", {}, jsonOnly],
  ["whose client accepts nothing else, without sessions", { sessions: false }, jsonOnly],
  ["of a server that is told so", { enableJsonResponse: true }, {}],
  ["of a server that is told so, without sessions", { enableJsonResponse: true, sessions: false }, {}],
])("a request %s", (_whose, http, options) => {
  it("is answered as JSON [B-065]", async () => {
    const served = await started(http);
    const peer = await SessionClient.open(served.http.url, options);
    expect(peer.sessionId === undefined).toBe(http.sessions === false);
    const called = { method: "tools/call", params: { name: "bare", arguments: {} } };
    const say = { method: "tools/call", params: { name: "echo", arguments: { say: "hello" } } };
    for (const [request, right] of [
      [{ method: "ping" }, {}],
      [{ method: "tools/list" }, { tools: expect.arrayContaining([]) }],
      [called, text("bare")],
      [say, text("hello")],
      [{ method: "prompts/get", params: { name: "greeting" } }, { messages: expect.anything() }],
    ] as const) {
      const response = await peer.post({ id: 7, ...request });
      expect(response.headers.get("mcp-session-id")).toBe(peer.sessionId ?? null);
      expect(await answerOf(response)).toMatchObject({ jsonrpc: "2.0", id: 7, result: right });
    }
    const unknown = await answerOf(await peer.post({ id: 8, method: "no/such" }));
    expect(unknown).toMatchObject({ id: 8, error: { code: -32601 } });
    expect((await peer.post({ method: "notifications/initialized" })).status).toBe(202);
  });

  it("of a batch too, in which what is cancelled has an error", async () => {
    const served = await started(http);
    const peer = await SessionClient.open(served.http.url, { version: "2025-03-26", ...options });
    const call = { method: "tools/call", params: { name: "job", arguments: {} } };
    const cancel = { method: "notifications/cancelled", params: { requestId: "c" } };
    const batch = [{ id: "c", ...call }, cancel, { id: "p", method: "ping" }];
    const answers = await answerOf(await peer.post(batch.map((message) => ({ jsonrpc: "2.0", ...message }))));
    expect(answers).toMatchObject([
      { id: "c", error: { message: "Cancelled" } },
      { id: "p", result: {} },
    ]);
  });
});

it("takes what accepts anything for what accepts JSON, and refuses what accepts neither", async () => {
  const { http } = await started();
  const peer = await SessionClient.open(http.url);
  for (const [accept, status, type] of [
    ["*/*", 200, json],
    ["application/*;q=0.8", 200, json],
    ["text/html, */*;q=0.1", 200, json],
    ["*/*, text/event-stream", 200, "text/event-stream"],
    ["Application/JSON", 200, json],
    ["APPLICATION/JSON, Text/Event-Stream", 200, "text/event-stream"],
    ["text/html", 406, json],
    ["text/event-stream", 406, json],
  ] as const) {
    const response = await peer.post({ id: 1, method: "ping" }, { headers: { accept } });
    await response.body?.cancel();
    expect([accept, response.status, response.headers.get("content-type")]).toEqual([accept, status, type]);
  }
});

describe("beside an answer as JSON", () => {
  it("reports are dropped, and questions come on the stream of the session", async () => {
    const { http } = await started({ enableJsonResponse: true });
    const peer = await SessionClient.open(http.url, { capabilities: formClient });
    const params = { name: "progress", arguments: {}, _meta: { progressToken: 1 } };
    expect(await peer.request("tools/call", params)).toMatchObject({ result: text("progressed") });
    const listening = await peer.listen();
    const reply = async (content: object): Promise<void> => {
      const { id, method } = (await listening.message()) ?? {};
      expect(method).toBe("elicitation/create");
      expect((await peer.post({ id, result: { action: "accept", content } })).status).toBe(202);
    };
    const own = peer.call("ask_user");
    await reply({ name: "Ann" });
    expect(await own).toMatchObject({ result: text('user: accept {"name":"Ann"}') });
    const plain = peer.call("confirm");
    await reply({ note: "today" });
    expect(await plain).toMatchObject({ result: text("sent: today") });
    const taskId = await taskOf(peer, "confirm");
    const result = peer.request("tasks/result", { taskId });
    for (let status; status !== "notifications/tasks/status";)
      status = (await listening.message())?.["method"];
    await reply({ note: "as a task" });
    expect(await result).toMatchObject({ result: text("sent: as a task") });
  });

  it("nothing is asked where there is no such stream: the call says so, or gets a ticket with the question", async () => {
    const { http, errors } = await started();
    const peer = await SessionClient.open(http.url, { ...jsonOnly, capabilities: formClient });
    for (const tool of ["ask_user", "direct"]) {
      const said = await peer.call(tool);
      expect(said).toMatchObject({ result: { isError: true } });
      expect(JSON.stringify(said)).toContain("The client cannot be asked");
    }
    expect(JSON.stringify(await peer.call("confirm"))).toContain("Question: Send 12 rows?");
    expect(errors).toEqual([]);
  });

  it("a task of SEP-1686 is told of on the stream of the session [S-011]", async () => {
    const { http, job } = await started({ enableJsonResponse: true });
    const peer = await SessionClient.open(http.url, { version: "2025-06-18" });
    const listening = await peer.listen();
    const answer = peer.request("tools/call", withTask({ name: "job", arguments: {} }, { taskId: "mine" }));
    expect(await listening.message()).toMatchObject({ method: "notifications/tasks/created" });
    job.end();
    expect(await answer).toMatchObject({ result: text("run 1") });
  });
});

it.each(["ours", "the author's own"])("is answered as JSON in 2026-07-28 too: %s", async (whose) => {
  const gate = Promise.withResolvers<void>();
  const report = async (send: () => unknown): Promise<CallToolResult> => {
    await send();
    await gate.promise;
    return text("reported");
  };
  const { http } = await serve({
    tools: (tasks) => {
      if (whose === "ours")
        tasks.tool("report", { joinCalls: false }, (_args, task) => report(() => task.progress(1, 2)));
    },
    server: (mcp) => {
      const params = { progressToken: 1, progress: 1 };
      if (whose !== "ours")
        mcp.registerTool("report", {}, ({ mcpReq }) =>
          report(() => mcpReq.notify({ method: "notifications/progress", params })),
        );
    },
  });
  const call = async (accept: string): Promise<Response> => {
    const { _meta } = listenParams({}, {}) as { _meta: object };
    const params = { name: "report", arguments: {}, _meta: { ..._meta, progressToken: 1 } };
    const named = { "mcp-method": "tools/call", "mcp-name": "report", "mcp-protocol-version": "2026-07-28" };
    const headers = { accept, "content-type": json, ...named };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    return fetch(http.url, { method: "POST", headers, body });
  };
  const answered = call(json);
  const streaming = await call(`${json}, text/event-stream`); // begins with its progress
  expect(streaming.headers.get("content-type")).toBe("text/event-stream");
  gate.resolve();
  expect(await answerOf(await answered)).toMatchObject({ id: 1, result: text("reported") });
  const [progress, result] = await new EventStream(streaming).rest();
  expect(progress).toMatchObject({ method: "notifications/progress" });
  expect(result).toMatchObject({ id: 1, result: text("reported") });
});

it("cannot be what a listen request of 2026-07-28 gets", async () => {
  const { http, tasks } = await started();
  for (const [accept, status] of [
    [json, 406],
    [`${json}, text/event-stream`, 200],
    ["*/*", 200],
  ] as const) {
    const response = await listenTo(http.url, { toolsListChanged: true }, { headers: { Accept: accept } });
    expect([accept, response.status]).toEqual([accept, status]);
    if (status === 200) {
      const events = new EventStream(response);
      await events.message();
      tasks.tool(`new, ${accept}`, {}, () => text("new"));
      expect(await events.message()).toMatchObject({ method: "notifications/tools/list_changed" });
    }
    await response.body?.cancel().catch(() => undefined);
  }
});

it("counts as open until it is answered, and its client as gone with its connection", async () => {
  const { http, job } = await started({ maxOpenRequestsPerSession: 1, resumeMs: 1 });
  const peer = await SessionClient.open(http.url, jsonOnly);
  const leaving = new AbortController();
  const params = { name: "job", arguments: {} };
  const left = peer.post({ id: 1, method: "tools/call", params }, { signal: leaving.signal });
  left.catch(() => undefined);
  await job.begun.promise;
  const isFull = async (): Promise<boolean> => (await peer.post({ id: 2, method: "ping" })).status === 429;
  expect(await isFull()).toBe(true);
  leaving.abort();
  await expect(left).rejects.toThrow();
  while (await isFull());
  const again = peer.post({ id: 3, method: "tools/call", params });
  job.end();
  expect(await answerOf(await again)).toMatchObject({ result: text("run 1") });
  expect(job.runs).toBe(1);
});

it.each([
  ["as JSON", jsonOnly],
  ["on a stream", {}],
])("%s, the answer to a request is not taken for that to another with the same id", async (_, options) => {
  const gate = () => ({ begun: Promise.withResolvers<void>(), end: Promise.withResolvers<void>() });
  const gates = { one: gate(), two: gate() };
  const tools = (tasks: Tasks): void => {
    for (const [name, { begun, end }] of Object.entries(gates))
      tasks.tool(name, {}, async () => {
        begun.resolve();
        await end.promise;
        return text(name);
      });
  };
  const { open } = await processes({ tools });
  const peer = await open(options);
  const call = (name: string): Promise<Response> =>
    peer.post({ id: 7, method: "tools/call", params: { name, arguments: {} } });
  const older = call("one");
  await gates.one.begun.promise;
  const newer = call("two");
  await gates.two.begun.promise;
  gates.one.end.resolve();
  await peer.request("ping");
  await rest();
  gates.two.end.resolve();
  const { status } = await older;
  const answersIn = async (response: Response): Promise<Message[]> => {
    const messages: Message[] = [];
    for await (const message of messagesOf(response)) messages.push(message);
    return messages.filter((message) => message["id"] !== undefined);
  };
  expect(status).toBe(200);
  expect(await answersIn(await newer)).toMatchObject([{ id: 7, result: text("two") }]);
  const refusal = { id: 7, error: { code: -32600 } };
  expect(await answersIn(await older)).toMatchObject("headers" in options ? [refusal] : []);
  const old = await open({ ...options, version: "2025-03-26" });
  const ping = { jsonrpc: "2.0", id: 7, method: "ping" };
  expect((await old.post([ping, { ...ping, id: "7" }])).status).toBe(200);
  expect((await old.post([ping, ping])).status).toBe(400);
});

it("ends with its session", async () => {
  const { http, job } = await started();
  const peer = await SessionClient.open(http.url, jsonOnly);
  const call = peer.post({ id: 1, method: "tools/call", params: { name: "job", arguments: {} } });
  await job.begun.promise;
  expect((await peer.send("DELETE")).status).toBe(200);
  expect((await call).status).toBe(404);
});

it("prints no warning of the SDK's about JSON", async () => {
  const warn = vi.spyOn(console, "warn");
  onTestFinished(() => warn.mockRestore());
  await started();
  expect(warn).not.toHaveBeenCalled();
  expect(console.warn).toBe(warn);
});
