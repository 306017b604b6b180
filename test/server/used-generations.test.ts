import type { Tasks } from "holdfast";
import { expect, it } from "vitest";
import { withRelatedTask, withTask } from "../../src/generation/sep-1686.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { type Message, text } from "../kit/messages.ts";
import { serve } from "../kit/server.ts";
import { SessionClient } from "../kit/session-client.ts";
import { minute, processes } from "./restarted-sessions.ts";

function tools(tasks: Tasks): void {
  tasks.tool("done", {}, () => text("done"));
  tasks.tool("wait", {}, async (_, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return text("stopped");
  });
}

const callOf = (name: string, taskId: string): object => withTask({ name, arguments: {} }, { taskId });

async function startCore(peer: SessionClient): Promise<string> {
  const { result } = await peer.request("tools/call", { name: "done", arguments: {}, task: {} });
  return (result as { task: { taskId: string } }).task.taskId;
}

async function listed(peer: SessionClient): Promise<unknown[]> {
  const { tasks } = (await peer.request("tasks/list"))["result"] as { tasks: Message[] };
  return tasks.map(({ taskId }) => String(taskId)).toSorted();
}

const isFound = async (peer: SessionClient, taskId: string, params = {}): Promise<boolean> =>
  (await peer.request("tasks/get", { taskId, ...params }))["result"] !== undefined;

it.each([
  ["2025-11-25", withRelatedTask({}, "any")],
  ["2025-06-18", { task: {} }],
])("keeps with a session of %s that it has used the other generation [A-46]", async (version, use) => {
  const run = await processes({ tools });
  const other = await run.open({ version: "2025-11-25" });
  const core = await startCore(other);
  await other.request("tools/call", callOf("done", "mine"));
  const here = await run.open({ version });
  const one = version === "2025-11-25" ? core : "mine";
  expect(await listed(here)).toEqual([one]);
  await here.request("ping", use);
  run.kill();
  expect(await listed(here)).toEqual([core, "mine"].toSorted());
  for (const id of [core, "mine"]) expect(await isFound(here, id)).toBe(true);
  const third = await run.open({ version });
  run.kill();
  expect(await listed(third)).toEqual([one]);
  expect(run.errors).toEqual([]);
});

it("knows of it in every process at once, and while the task still runs", async () => {
  // No process hears of what another one has stored.
  const wrap = (store: TaskStore): TaskStore => {
    Object.assign(store.sessions ?? {}, { subscribe: () => () => undefined });
    return store;
  };
  const run = await processes({ tools, wrap });
  const here = await run.open();
  const there = (await run.beside()).peer(here);
  const core = await startCore(there);
  expect(await listed(there)).toEqual([core]);
  const stream = await here.begin("tools/call", callOf("wait", "mine"));
  expect(await stream.message()).toMatchObject({ method: "notifications/tasks/created" });
  expect(await isFound(here, "mine")).toBe(true); // once that is answered, it is stored
  expect(await isFound(there, "mine")).toBe(true);
  expect(await listed((await run.beside()).peer(here))).toEqual([core, "mine"].toSorted());
  run.kill();
  expect(await listed(here)).toEqual([core, "mine"].toSorted());
});

it.each([
  ["2025-11-25", { task: {} }],
  ["2025-06-18", withTask({}, { taskId: "mine" })],
])(
  "has no tickets for a client of %s that asked for a task, in later processes too",
  async (version, use) => {
    const run = await processes({ tools });
    const peer = await run.open({ version });
    const names = async (): Promise<unknown[]> => {
      const { tools: all } = (await peer.request("tools/list"))["result"] as { tools: Message[] };
      return all.map(({ name }) => name);
    };
    expect(await names()).toContain("task_result");
    await peer.request("tools/call", { name: "done", arguments: {}, ...use });
    for (let kills = 0; kills < 2; kills++) {
      expect(await names()).not.toContain("task_result");
      run.kill();
    }
  },
);

it("stores it once for many requests that show it", async () => {
  const run = await processes({ tools });
  const here = await run.open();
  let writes = 0;
  const update = run.records.update.bind(run.records);
  run.records.update = (...of) => (writes++, update(...of));
  const poll = (): Promise<Message> => here.request("tasks/get", withRelatedTask({ taskId: "mine" }, "mine"));
  await Promise.all([poll(), poll(), poll()]);
  await poll();
  await run.clock.advance(minute);
  expect(writes).toBe(1);
  for (const taskId of [await startCore(here), await startCore(here)]) await isFound(here, taskId);
  expect(writes).toBe(2);
});

it("judges each request alone without a session [A-46]", async () => {
  const http = { sessions: false, anonymous: "shared" } as const;
  const { url } = (await serve({ tools, http })).http;
  const peer = new SessionClient(url);
  const core = await startCore(peer);
  await peer.request("tools/call", callOf("done", "mine"));
  const older = new SessionClient(url, { headers: { "mcp-protocol-version": "2025-06-18" } });
  const sep = withRelatedTask({}, "mine");
  const both = [core, "mine"].toSorted();
  expect([await listed(peer), await listed(older)]).toEqual([[core], ["mine"]]);
  expect([await isFound(peer, core), await isFound(peer, "mine")]).toEqual([true, false]);
  expect([await isFound(peer, core, sep), await isFound(peer, "mine", sep)]).toEqual([true, true]);
  expect([await isFound(older, core), await isFound(older, core, { task: {} })]).toEqual([false, true]);
  const { result } = await peer.request("tasks/list", sep);
  expect((result as { tasks: Message[] }).tasks.map(({ taskId }) => String(taskId)).toSorted()).toEqual(both);
  expect(await listed(peer)).toEqual([core]);
});
