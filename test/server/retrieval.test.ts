import { setImmediate } from "node:timers/promises";
import type { ServerEvent, Tasks } from "holdfast";
import { serveHttp } from "holdfast/http";
import { memoryStore } from "holdfast/memory";
import { sqliteStore } from "holdfast/sqlite";
import { expect, it } from "vitest";
import { text, withoutTasks } from "../kit/messages.ts";
import { serve, type Setup, testServer } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { StatelessClient } from "../kit/stateless-client.ts";
import { Subscription } from "../kit/subscription.ts";
import { watchedStore } from "../runtime/watched-store.ts";
import { useTempDirectory } from "../store/sqlite/temp-directory.ts";
import { Job, ticketOf } from "./plain/job.ts";

const folder = useTempDirectory();

type Retrieved = Extract<ServerEvent, { type: "task.retrieved" }>;

/** A server whose callers are the names in their tokens. */
async function audited(tools: (of: Tasks) => void, options: Setup["options"] = {}) {
  const all: ServerEvent[] = [];
  const events: Retrieved[] = [];
  const heard = new Set<() => void>();
  const served = await serve({
    tools,
    http: {
      authenticate: async (request) => ({ principal: request.headers.get("authorization") ?? "nobody" }),
    },
    options: {
      ...options,
      onEvent(event) {
        all.push(event);
        if (event.type === "task.retrieved") events.push(event);
        for (const each of heard) each();
      },
    },
  });
  const { http, tasks } = served;
  return {
    url: http.url,
    tasks,
    all,
    events,
    first: async (): Promise<Retrieved | undefined> => {
      while (events.length === 0) await new Promise<void>((resolve) => heard.add(resolve));
      return events[0];
    },
    ann: new StatelessClient(http.url, (url, { headers, ...init }) =>
      fetch(url, { ...init, headers: { ...(headers as Record<string, string>), authorization: "ann" } }),
    ),
  };
}

const quick = (of: Tasks): void => {
  of.tool("quick", {}, () => text("result"));
};
const named = { headers: { authorization: "ann" } };

/** Lets all writes end that are under way. */
async function idle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await setImmediate();
}

it("is one event at the first answer with the result, and no change of the task [S-095 C-129]", async () => {
  const { ann, first, all, events, tasks } = await audited((of) => {
    quick(of);
    of.tool("waits", {}, (_args, task) => task.sleep("long", 60_000).then(() => text("late")));
  });
  const working = await ann.start("waits");
  await ann.get(working);
  const id = await ann.start("quick");
  const result = await ann.ended(id);
  const told = await first();
  expect(told).toMatchObject({ taskId: id, tool: "quick", principal: "ann", generation: "2026-07-28" });
  expect(told?.via).toBe("tasks/get");
  const life = ["task.created", "task.started", "task.settled", "task.retrieved"];
  expect(all.filter((event) => "taskId" in event && event.taskId === id)).toMatchObject(
    life.map((type) => ({ type, principal: "ann" })),
  );
  expect(await ann.get(id)).toEqual(result); // with the same lastUpdatedAt
  await idle();
  expect(events).toHaveLength(1);
  const { at, via } = told ?? {};
  expect((await tasks.admin.show(id)).retrieved?.via).toBe(via);
  expect((await tasks.admin.show(id)).retrieved?.at).toBeLessThanOrEqual(at ?? 0);
  expect((await tasks.admin.show(working)).retrieved).toBeNull();
});

it("is the answer to a tasks/result that waited, in each generation that has it [S-095 C-129]", async () => {
  for (const version of ["2025-11-25", "2025-06-18"]) {
    const job = new Job();
    const { url, first, events } = await audited((of) => job.add(of));
    const peer = await SessionClient.open(url, { version, ...named });
    const asSep = { _meta: { "modelcontextprotocol.io/task": { taskId: "mine" } } };
    const call = { name: "job", arguments: {}, ...(version === "2025-11-25" ? { task: {} } : asSep) };
    const called = peer.request("tools/call", call);
    await job.begun.promise;
    const id = version === "2025-11-25" ? taskOf(await called) : "mine";
    if (version === "2025-11-25") {
      const waiting = peer.request("tasks/result", { taskId: id });
      job.end();
      await waiting;
    } else {
      job.end();
      await called; // the answer to the call itself
      expect(events).toEqual([]);
      await peer.request("tasks/result", { taskId: id });
    }
    expect(await first()).toMatchObject({ via: "tasks/result", principal: "ann" });
  }
});

function taskOf(answer: unknown): string {
  return (answer as { result: { task: { taskId: string } } }).result.task.taskId;
}

it("is a pushed task with its result [S-095]", async () => {
  const job = new Job();
  const { url, ann, first } = await audited((of) => job.add(of));
  const id = await ann.start("job");
  await Subscription.to(url, { taskIds: [id] }, named);
  job.end();
  expect(await first()).toMatchObject({ taskId: id, via: "notifications/tasks" });
});

it("is what a polling tool or a later call brings, and not the answer to the call that made the task [S-095]", async () => {
  const job = new Job();
  const { ann, events, first } = await audited((of) => {
    quick(of);
    job.add(of, { plain: "ticket", plainDeadlineMs: 1 });
  });
  const plain = { capabilities: withoutTasks };
  expect((await ann.call("quick", {}, plain)).result).toMatchObject(text("result"));
  const { reference } = ticketOf((await ann.call("job", {}, plain)).result);
  job.end();
  await ann.call("task_result", { reference }, plain);
  expect(await first()).toMatchObject({ tool: "job", generation: "plain", via: "task_result" });
  expect(events).toHaveLength(1);
});

it("is the result that a call with the same key finds [S-095]", async () => {
  const { ann, events, first } = await audited(quick);
  const call = (): Promise<unknown> =>
    ann.send(
      "tools/call",
      { name: "quick", arguments: {} },
      { capabilities: withoutTasks, meta: { "holdfast/idempotencyKey": "k1" } },
    );
  await call();
  expect(events).toEqual([]);
  await call();
  expect(await first()).toMatchObject({ tool: "quick", via: "tools/call" });
});

it("is waited for by no answer, and by a stop", async () => {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const order: string[] = [];
  const store = watchedStore(memoryStore(), async (call) => {
    if (call === "close") order.push("closed");
    if (call !== "retrieve") return;
    asked.resolve();
    await gate.promise;
    order.push("recorded");
  });
  const { server } = testServer(quick, { store, stopDeadlineMs: 10_000 });
  const http = await serveHttp(server, { port: 0 });
  const peer = new StatelessClient(http.url);
  expect(await peer.ended(await peer.start("quick"))).toMatchObject({ status: "completed" });
  await asked.promise;
  const closed = http.close();
  await idle();
  expect(order).toEqual([]);
  gate.resolve();
  await closed;
  expect(order).toEqual(["recorded", "closed"]);
});

it("is recorded at most once, whatever processes read the result, and after a restart [S-095]", async () => {
  const file = folder.path();
  const seen: ServerEvent[] = [];
  const open = async (): Promise<StatelessClient> => {
    const { http } = await serve({
      tools: quick,
      options: { store: sqliteStore(file), onEvent: (event) => seen.push(event) },
    });
    return new StatelessClient(http.url);
  };
  const [one, other] = [await open(), await open()];
  const id = await one.start("quick");
  await Promise.all([one.ended(id), other.ended(id)]);
  const later = await open();
  await later.get(id);
  while (!seen.some(({ type }) => type === "task.retrieved")) await setImmediate();
  await later.get(id);
  await idle();
  expect(seen.filter(({ type }) => type === "task.retrieved")).toHaveLength(1);
});
