import { expect, it } from "vitest";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { formClient, text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { serve, startServer } from "../../kit/server.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { memoryStore } from "holdfast/memory";
import type { TaskRecord } from "../../../src/task/record.ts";
import { addConfirm, Job } from "./job.ts";

const versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

it.each(versions)("answers when the tool is done, and stores a task meanwhile, on %s", async (version) => {
  const store = memoryStore();
  const job = new Job();
  const { server } = await startServer((tasks) => job.add(tasks), { store });
  const session = await InMemorySession.open(server, { version });
  const call = session.call("job");
  await job.begun.promise;
  const [record] = await store.list({ generation: "plain", principal: "alice" }, null, 10, 0);
  expect(record).toMatchObject({ tool: "job", state: "running" } satisfies Partial<TaskRecord>);
  job.end();
  expect(await session.result(call)).toEqual(text("run 1"));
});

it("stores no task for a tool without tasks, nor for a client that uses tasks and asks for none", async () => {
  const store = memoryStore();
  const { server } = await startServer(
    (tasks) => {
      tasks.tool("quick", { task: "forbidden" }, () => text("quick"));
      tasks.tool("maybe", {}, () => text("maybe"));
      tasks.tool("long", { task: "required" }, () => text("long"));
    },
    { store },
  );
  const plain = await InMemorySession.open(server);
  expect(await plain.result(plain.call("quick"))).toEqual(text("quick"));
  expect(await plain.error("tools/call", { name: "long", arguments: {} })).toMatchObject({ code: -32601 });
  const speaks = await InMemorySession.open(server, { capabilities: { tasks: {} } });
  await speaks.request("ping", { task: {} });
  expect(await speaks.result(speaks.call("maybe"))).toEqual(text("maybe"));
  expect(await store.list({ generation: "plain", principal: "alice" }, null, 10, 0)).toEqual([]);
});

it("asks on the stream of the call without naming a task, and on that of the same call after it broke", async () => {
  const { server } = await startServer(addConfirm);
  const streams = new FakeStreams();
  const session = await InMemorySession.open(server, { capabilities: formClient, streams });
  const first = session.call("confirm");
  const question = await session.asked("elicitation/create");
  expect(session.sentOn.get(question["id"])).toBe(first);
  expect(question["params"]).not.toHaveProperty("_meta");
  expect(question["params"]).not.toHaveProperty("task");
  streams.break(first);
  const second = session.call("confirm");
  const again = await session.asked("elicitation/create", 1);
  expect(session.sentOn.get(again["id"])).toBe(second);
  session.reply(again, { action: "accept", content: { note: "b" } });
  expect(await session.result(second)).toEqual(text("sent: b"));
  expect(await session.result(first)).toEqual(text("sent: b"));
  expect(session.requests("notifications/tasks/status")).toEqual([]);
});

it("answers with an error result if the client cannot be asked", async () => {
  const { server } = await startServer(addConfirm, { plain: "wait" });
  const session = await InMemorySession.open(server);
  expect(await session.result(session.call("confirm"))).toMatchObject({ isError: true });
});

it("returns the same errors as a call without a task", async () => {
  const { http } = await serve({
    tools: (tasks) => {
      tasks.tool("throws", {}, () => {
        throw new Error("no paper");
      });
    },
  });
  expect((await new StatelessClient(http.url).call("throws", {}, { capabilities: {} })).result).toMatchObject(
    {
      isError: true,
      content: [{ text: "no paper" }],
    },
  );
});

it("answers a single request without a session", async () => {
  const job = new Job();
  const { http } = await serve({ tools: (tasks) => job.add(tasks), http: { sessions: false } });
  job.end();
  const response = await fetch(http.url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "job", arguments: {} },
    }),
  });
  expect(await response.text()).toContain('"run 1"');
});

it("stores a task for the call of a client that declares tasks, and has asked for none", async () => {
  const store = memoryStore();
  const { server } = await startServer(
    (tasks) => tasks.tool("maybe", { plain: "ticket", plainDeadlineMs: 0 }, () => text("maybe")),
    { store },
  );
  const elicitation = { elicitation: {}, tasks: { requests: { elicitation: { create: {} } } } };
  for (const capabilities of [{ tasks: {} }, elicitation]) {
    const speaks = await InMemorySession.open(server, { capabilities });
    expect(await speaks.result(speaks.call("maybe"))).toEqual(text("maybe")); // without a ticket
  }
  const stored = await store.list({ generation: "plain", principal: "alice" }, null, 10, 0);
  expect(stored.map(({ tool }) => tool)).toEqual(["maybe", "maybe"]);
});
