import { PassThrough } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { createTasks } from "holdfast";
import { createFetchHandler } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { serveStdio } from "holdfast/stdio";
import { expect, it, onTestFinished } from "vitest";
import { FakeStreams } from "../2025-11-25/streams.ts";
import { text } from "../../kit/messages.ts";
import { InMemorySession } from "../../kit/in-memory-session.ts";
import { serve, startServer } from "../../kit/server.ts";
import { SessionClient } from "../../kit/session-client.ts";
import { StatelessClient } from "../../kit/stateless-client.ts";
import { StdioClient } from "../../kit/stdio-client.ts";
import { fourTools, Job, ticketOf } from "./job.ts";

const without = { capabilities: {} };
const shared = { anonymous: "shared" } as const;

it("cancels the task of a caller of 2026-07-28 that closes its stream before any answer [B-P-003]", async () => {
  const job = new Job();
  const { http } = await serve({ tools: (tasks) => job.add(tasks), http: shared });
  const caller = new AbortController();
  const call = new StatelessClient(http.url).call("job", {}, { ...without, signal: caller.signal });
  await job.begun.promise;
  caller.abort();
  await expect(call).rejects.toThrow();
  await job.stopped.promise;
  // The same call does not join the cancelled one.
  const again = new StatelessClient(http.url).call("job", {}, without);
  job.end();
  expect((await again).result).toMatchObject(text("run 2"));
});

it("continues the task for another caller that waits, until that one leaves too", async () => {
  const job = new Job();
  const { http } = await serve({ tools: (tasks) => job.add(tasks, { joinCalls: true }), http: shared });
  const callers = [new AbortController(), new AbortController()];
  const joined = callers.map(({ signal }) =>
    new StatelessClient(http.url).call("job", {}, { ...without, signal }),
  );
  for (const call of joined) call.catch(() => undefined);
  await job.begun.promise;
  // The third call keeps the task running when the others have left.
  const third = new AbortController();
  const last = new StatelessClient(http.url).call("job", {}, { ...without, signal: third.signal });
  last.catch(() => undefined);
  let stopped = false;
  void job.stopped.promise.then(() => (stopped = true));
  for (const caller of callers) caller.abort();
  await Promise.allSettled(joined);
  await new StatelessClient(http.url).send("server/discover");
  expect(stopped).toBe(false);
  third.abort();
  await job.stopped.promise;
  expect(job.runs).toBe(1);
  job.end();
});

it("cancels a task without a ticket when all callers that waited have left", async () => {
  const job = new Job();
  const { http } = await serve({
    tools: (tasks) => job.add(tasks, { plain: "ticket", joinCalls: true }),
    http: shared,
    options: { pollingTools: fourTools },
  });
  const peer = new StatelessClient(http.url);
  const callers = [new AbortController(), new AbortController()];
  const first = peer.call("job", {}, { ...without, signal: callers[0]?.signal as AbortSignal });
  first.catch(() => undefined);
  await job.begun.promise;
  const second = peer.call("job", {}, { ...without, signal: callers[1]?.signal as AbortSignal });
  second.catch(() => undefined);
  // Both have arrived by then.
  await peer.call("task_list", {}, without);
  for (const caller of callers) caller.abort();
  await Promise.allSettled([first, second]);
  await job.stopped.promise;
  job.end();
});

it("does not cancel a task with a ticket", async () => {
  const job = new Job();
  const { http } = await serve({
    tools: (tasks) => job.add(tasks, { plain: "ticket", plainDeadlineMs: 20 }),
    http: shared,
  });
  const peer = new StatelessClient(http.url);
  const { reference } = ticketOf((await peer.call("job", {}, without)).result);
  for (const [name, args] of [
    ["job", {}],
    ["task_result", { reference }],
  ] as const) {
    const caller = new AbortController();
    const call = peer.call(name, args, { ...without, signal: caller.signal });
    caller.abort();
    await expect(call).rejects.toThrow();
  }
  job.end();
  expect((await peer.call("task_result", { reference }, without)).result).toMatchObject(text("run 1"));
});

/** A store, and the types of the commands that it was given. */
function watched(): { store: ReturnType<typeof memoryStore>; commands: string[] } {
  const store = memoryStore();
  const commands: string[] = [];
  const write = store.write.bind(store);
  store.write = (command) => {
    commands.push(command.type);
    return write(command);
  };
  return { store, commands };
}

it("does not cancel a task when its pipe ends, whichever process ended it", async () => {
  const job = new Job();
  const { store, commands } = watched();
  const tasks = createTasks({ store, stopDeadlineMs: 50 });
  job.add(tasks);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const factory = (): McpServer => new McpServer({ name: "reports", version: "1" });
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  const pipe = new StdioClient(stdin, stdout);
  pipe.send(1, "tools/call", { name: "job", arguments: {} }, {});
  await job.begun.promise;
  pipe.end();
  await server.close();
  expect(commands).toContain("release");
  expect(commands.filter((type) => type.startsWith("cancel"))).toEqual([]);
});

it("cancels the task of a call that is cancelled on a pipe", async () => {
  const job = new Job();
  const tasks = createTasks({ store: memoryStore(), stopDeadlineMs: 50 });
  job.add(tasks);
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const factory = (): McpServer => new McpServer({ name: "reports", version: "1" });
  const server = await serveStdio(tasks.server(factory), { stdin, stdout });
  onTestFinished(() => server.close());
  const pipe = new StdioClient(stdin, stdout);
  pipe.send(1, "tools/call", { name: "job", arguments: {} }, {});
  await job.begun.promise;
  pipe.cancel(1);
  await job.stopped.promise;
  expect(job.runs).toBe(1);
});

it("does not cancel a task when the server stops", async () => {
  const job = new Job();
  const { store, commands } = watched();
  const tasks = createTasks({ store, stopDeadlineMs: 100 });
  job.add(tasks);
  const handler = createFetchHandler(
    tasks.server(() => new McpServer({ name: "reports", version: "1" })),
    { allowedHosts: "any" },
  );
  await tasks.start();
  onTestFinished(() => tasks.stop());
  const peer = new StatelessClient("http://localhost/mcp", (url, init) =>
    handler.fetch(new Request(url, init)),
  );
  const call = peer.call("job", {}, without).catch((error: unknown) => error);
  await job.begun.promise;
  await handler.close();
  await call;
  await tasks.stop();
  expect(commands).toContain("release");
  expect(commands.filter((type) => type.startsWith("cancel"))).toEqual([]);
});

it("does not cancel a task of an earlier revision when its connection breaks [B-078]", async () => {
  const job = new Job();
  const { http } = await serve({ tools: (tasks) => job.add(tasks), http: shared });
  const peer = await SessionClient.open(http.url, { version: "2025-06-18" });
  const gone = new AbortController();
  const stream = await peer.begin("tools/call", { name: "job", arguments: {} }, { signal: gone.signal });
  await job.begun.promise;
  gone.abort();
  await expect(stream.rest()).rejects.toThrow();
  await peer.send("DELETE");
  const again = (await SessionClient.open(http.url)).call("job");
  job.end();
  expect(await again).toMatchObject({ result: text("run 1") });
});

it("begins a call anew that follows at once on the cancellation of the same call", async () => {
  const job = new Job();
  const { server } = await startServer((tasks) => job.add(tasks));
  const session = await InMemorySession.open(server);
  const call = session.call("job");
  await job.begun.promise;
  session.notify("notifications/cancelled", { requestId: call });
  const again = session.call("job");
  await job.stopped.promise;
  job.end();
  expect(await session.result(again)).toEqual(text("run 2"));
});

it("cancels a task for a caller of an earlier revision that cancels before it has a ticket, and not later", async () => {
  const job = new Job();
  const { server } = await startServer((tasks) => {
    job.add(tasks);
  });
  const session = await InMemorySession.open(server, { streams: new FakeStreams() });
  const call = session.call("job");
  await job.begun.promise;
  session.notify("notifications/cancelled", { requestId: call });
  await job.stopped.promise;

  const kept = new Job();
  const later = await startServer((tasks) => kept.add(tasks, { plain: "ticket", plainDeadlineMs: 20 }));
  const other = await InMemorySession.open(later.server);
  const { reference } = ticketOf(await other.result(other.call("job")));
  for (const [name, args] of [
    ["job", {}],
    ["task_result", { reference }],
  ] as const) {
    other.notify("notifications/cancelled", { requestId: other.call(name, args) });
  }
  kept.end();
  expect(await other.result(other.call("task_result", { reference }))).toEqual(text("run 1"));
  job.end();
});
