import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { type Message, formClient, related, text } from "../../kit/messages.ts";
import { serve } from "../../kit/server.ts";
import { EventStream, SessionClient } from "../../kit/session-client.ts";

function gated(): { tools: (tasks: Tasks) => void; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    tools: (tasks) => tasks.tool("gated", {}, async () => (await promise, text("done"))),
    open: resolve,
  };
}

async function start(peer: SessionClient): Promise<string> {
  const { result } = await peer.request("tools/call", { name: "gated", arguments: {}, task: {} });
  return (result as { task: { taskId: string } }).task.taskId;
}

it.each(["tasks/get", "tasks/list", "tasks/cancel"])(
  "answers %s without a stream, errors too [C-054 C-055]",
  async (method) => {
    const { tools } = gated();
    const { http } = await serve({ tools, http: { anonymous: "shared" } });
    const peer = await SessionClient.open(http.url);
    const taskId = await start(peer);
    for (const [id, params] of [{ taskId }, { taskId: "none", cursor: "none" }].entries()) {
      const response = await peer.post({ id: 100 + id, method, params });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: 100 + id });
    }
  },
);

it("holds requests about tasks to the rules of the transport [C-055 A-36]", async () => {
  const { tools } = gated();
  const { http } = await serve({ tools, http: { anonymous: "shared" } });
  const peer = await SessionClient.open(http.url);
  const taskId = await start(peer);
  const statuses = async (headers: Record<string, string>): Promise<number[]> => {
    const ask = async (method: string): Promise<number> =>
      (await peer.post({ id: 7, method, params: { taskId } }, { headers })).status;
    return [await ask("tasks/get"), await ask("tasks/cancel")];
  };
  expect(await statuses({ accept: "text/html" })).toEqual([406, 406]);
  expect(await statuses({ "content-type": "text/plain" })).toEqual([415, 415]);
  expect(await statuses({ "mcp-protocol-version": "1999-01-01" })).toEqual([400, 400]);
  expect(await statuses({ origin: "https://elsewhere.example" })).toEqual([403, 403]);
  expect(await statuses({ "mcp-session-id": "8f8b0a0c-0000-4000-8000-000000000000" })).toEqual([404, 404]);
  // None of these has cancelled it.
  expect(await peer.request("tasks/get", { taskId })).toMatchObject({ result: { status: "working" } });
});

it("lets a client that lost the stream of tasks/result come back for the answer [C-055 A-13]", async () => {
  const { tools, open } = gated();
  const { http } = await serve({ tools, http: { anonymous: "shared" } });
  const peer = await SessionClient.open(http.url);
  const taskId = await start(peer);
  const leaving = new AbortController();
  const lost = await peer.begin("tasks/result", { taskId }, { signal: leaving.signal });
  const opened = await lost.any();
  leaving.abort();
  expect(await peer.request("tasks/get", { taskId })).toMatchObject({ result: { status: "working" } });
  const resumed = await peer.listen(opened?.id);
  open();
  for (;;) {
    const message = await resumed.message();
    if (message !== undefined && "method" in message) continue; // its status
    expect(message).toMatchObject({ result: { ...text("done"), _meta: related(taskId) } });
    break;
  }
});

it("asks once more on the new stream of a request that comes twice, as behind a proxy that repeats it [A-14]", async () => {
  const requestedSchema = { type: "object" as const, properties: {} };
  const tools = (tasks: Tasks): void =>
    void tasks.tool("gated", {}, async (_args, task) => {
      const { action } = await task.elicit("sure", { message: "Sure?", requestedSchema });
      return text(action);
    });
  const { http } = await serve({ tools, http: { anonymous: "shared" } });
  const peer = await SessionClient.open(http.url, { capabilities: formClient });
  const taskId = await start(peer);
  const waiting = { id: "wait", method: "tasks/result", params: { taskId } };
  const [leaving, stays] = [new AbortController(), new AbortController()];
  const first = new EventStream(await peer.post(waiting, { signal: leaving.signal }));
  expect(await asked(first)).toMatchObject({ params: { message: "Sure?" } });
  const second = new EventStream(await peer.post(waiting, { signal: stays.signal }));
  const { id } = await asked(second);
  leaving.abort();
  await peer.post({ id, result: { action: "decline" } });
  for (;;) {
    const message = await second.message();
    if (message !== undefined && "method" in message) continue; // its status
    expect(message).toMatchObject({ id: "wait", result: text("decline") });
    break;
  }
});

/** The next question on a stream. */
async function asked(stream: EventStream): Promise<Message> {
  for (;;) {
    const message = await stream.message();
    if (message === undefined) throw new Error("The stream ended.");
    if (message["method"] === "elicitation/create") return message;
  }
}
