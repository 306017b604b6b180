import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import type { Message } from "../kit/messages.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { StdioClient } from "../kit/stdio-client.ts";
import { as, authenticate, secret, states, toolFor, tools, unknownLike } from "./stage.ts";

/** One store with tasks of Alice's, who comes over HTTP, and of whoever is at the other end of the pipe. */
async function shared(): Promise<{ url: string; pipe: StdioClient }> {
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 100 });
  tools(tasks);
  const server = tasks.server(() => new McpServer({ name: "shared", version: "1" }));
  const http = await serveHttp(server, { port: 0, authenticate });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const stdio = await serveStdio(server, { stdin, stdout });
  onTestFinished(async () => {
    await stdio.close();
    await http.close();
  });
  return { url: http.url, pipe: new StdioClient(stdin, stdout) };
}

async function handshake(pipe: StdioClient): Promise<void> {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: { form: {} } },
    clientInfo: { name: "bob", version: "1" },
  };
  pipe.write({ id: 0, method: "initialize", params });
  await pipe.next();
  pipe.write({ method: "notifications/initialized" });
}

it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
  "tells a process nothing of the tasks of others in its store: %s [X-P-003 A-39 A-40]",
  async (method) => {
    const { url, pipe } = await shared();
    for (const state of states) {
      const peer = new StatelessClient(url);
      const id = await peer.start(toolFor[state], { word: secret }, as("alice"));
      const by = (taskId: string): Promise<Message> => pipe.request(method, { taskId, inputResponses: {} });
      const foreign = JSON.stringify(await by(id));
      expect(foreign).toContain("-32602");
      expect(foreign).toBe(JSON.stringify(await by(unknownLike(id))));
      for (const word of [secret, id]) expect(foreign).not.toContain(word);
      expect(await peer.get(id, as("alice"))).toMatchObject({ taskId: id });
    }
  },
);

it("pushes a process nothing of the tasks of others", async () => {
  const { url, pipe } = await shared();
  const peer = new StatelessClient(url);
  const id = await peer.start("asks", { word: secret }, as("alice"));
  const own = await pipe.start("asks", { word: "beryl" });
  pipe.listen("both", { taskIds: [id, own] });
  const messages = [await pipe.next()];
  expect(messages[0]).toMatchObject({ params: { notifications: { taskIds: [own] } } });
  await peer.send("tasks/cancel", { taskId: id }, as("alice"));
  while ((await peer.get(id, as("alice")))["status"] !== "cancelled") await new Promise(setImmediate);
  pipe.send(5, "tasks/cancel", { taskId: own });
  while (!JSON.stringify(messages.at(-1)).includes('"cancelled"')) messages.push(await pipe.next());
  for (const word of [secret, id]) expect(JSON.stringify(messages)).not.toContain(word);
});

it("makes a process a task of its own under another's idempotency key [A-48]", async () => {
  const { url, pipe } = await shared();
  const _meta = { "holdfast/idempotencyKey": "order-7" };
  const hers = await new StatelessClient(url).start(
    "completes",
    { word: secret },
    { ...as("alice"), meta: _meta },
  );
  pipe.write({
    id: 1,
    method: "tools/call",
    params: {
      name: "completes",
      arguments: { word: secret },
      _meta: {
        ..._meta,
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
      },
    },
  });
  const { result } = (await pipe.next()) as { result: { taskId: string } };
  expect(result.taskId).toBeTypeOf("string");
  expect(result.taskId).not.toBe(hers);
});

it("tells a process of an earlier revision nothing either, in lists and notifications too [A-39 A-40]", async () => {
  const { url, pipe } = await shared();
  const alice = await SessionClient.open(url, as("alice"));
  await handshake(pipe);
  const said: unknown[] = [];
  const request = async (id: string, method: string, params: object): Promise<string> => {
    pipe.write({ id, method, params });
    for (;;) {
      const message = await pipe.next();
      said.push(message);
      if (message?.["id"] === id) return JSON.stringify(message).replace(id, "");
    }
  };
  const ids: string[] = [];
  for (const state of states) {
    const params = { name: toolFor[state], arguments: { word: secret }, task: {} };
    const { result } = (await alice.request("tools/call", params)) as {
      result: { task: { taskId: string } };
    };
    const { taskId } = result.task;
    ids.push(taskId);
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      const foreign = await request("a", method, { taskId });
      expect(foreign).toContain("-32602");
      expect(foreign).toBe(await request("b", method, { taskId: unknownLike(taskId) }));
    }
  }
  expect(await request("c", "tasks/list", {})).toContain('"tasks":[]');
  for (const word of [secret, ...ids]) expect(JSON.stringify(said)).not.toContain(word);
});
