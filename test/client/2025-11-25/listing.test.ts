import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, type ConnectOptions, type ListedTask, type TaskClient } from "holdfast/client";
import { expect, it, onTestFinished } from "vitest";
import { setUp } from "../setup.ts";
import { sent, setUpCore, task, taskId } from "./core-peer.ts";

const reference = { server: "transport", generation: "2025-11-25", taskId };
const noList = { code: "rpc", error: { code: -32601 } };

async function all(client: TaskClient): Promise<ListedTask[]> {
  const tasks: ListedTask[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTasks({ cursor });
    tasks.push(...page.tasks);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tasks;
}

it("lists the server's tasks page by page, and hands its cursors back as they came [C-070 C-074]", async () => {
  const { peer, client } = await setUpCore();
  const nextCursor = ' {"page": 2}\u0000é%20==';
  const second = { ...task("completed", { statusMessage: "Sent" }, 5), taskId: "second" };
  peer.script(
    "tasks/list",
    { result: { tasks: [task("working")], nextCursor } },
    { result: { tasks: [], nextCursor: "" } },
    { result: { tasks: [second], nextCursor: null } },
  );
  const times = { createdAt: "2026-10-01T00:00:00Z", ttlMs: 900_000, pollIntervalMs: 2000 };
  expect(await all(client)).toEqual([
    { reference, taskId, status: "working", ...times, lastUpdatedAt: "2026-10-01T00:00:00Z" },
    {
      reference: { ...reference, taskId: "second" },
      taskId: "second",
      status: "completed",
      statusMessage: "Sent",
      ...times,
      lastUpdatedAt: "2026-10-01T00:00:05Z",
    },
  ]);
  expect(peer.params("tasks/list")).toEqual([{}, { cursor: nextCursor }, { cursor: "" }]);
});

it("gives references that are waited by", async () => {
  const { peer, client } = await setUpCore();
  peer.script("tasks/list", { result: { tasks: [task("completed")] } });
  peer.always("tasks/get", { result: task("completed") });
  peer.always("tasks/result", { result: sent });
  const [listed] = await all(client);
  expect(await (await client.resume(listed?.reference ?? null)).result()).toEqual(sent);
});

it("asks only servers that list tasks [C-010]", async () => {
  const { peer, client } = await setUpCore({}, { tools: {}, tasks: { cancel: {} } });
  await expect(client.listTasks()).rejects.toMatchObject(noList);
  expect(peer.of("tasks/list")).toEqual([]);
});

it("lists nothing on 2026-07-28, which has no lists", async () => {
  const { client } = await setUp();
  await expect(client.listTasks()).rejects.toMatchObject(noList);
});

it.each([
  ["no list", {}],
  ["what is no task", { tasks: [null] }],
  ["a task that cannot be read", { tasks: [task("working"), { taskId: "second" }] }],
  ["a cursor that is no string", { tasks: [], nextCursor: 2 }],
])("takes an answer with %s for what it is", async (_, result) => {
  const { peer, client } = await setUpCore();
  peer.script("tasks/list", { result });
  await expect(client.listTasks()).rejects.toMatchObject({ code: "protocol" });
});

it("ends with its caller, its time and its client", async () => {
  const { peer, client, clock } = await setUpCore();
  peer.always("tasks/list", "silence");
  const reason = new Error("enough");
  await expect(client.listTasks({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  await expect(client.listTasks({ timeoutMs: -1 })).rejects.toThrow(RangeError);
  const late = client.listTasks({ timeoutMs: 100 });
  await peer.sees("tasks/list");
  clock.passDeadlines(100);
  await expect(late).rejects.toMatchObject({ code: "timeout" });
  const left = client.listTasks().catch((error: unknown) => error);
  await client.close();
  expect(await left).toMatchObject({ code: "closed" });
});

it.each<[string, ConnectOptions]>([
  ["2025-11-25", { protocolVersion: "2025-11-25" }],
  ["sep-1686", { protocolVersion: "2025-06-18" }],
])("lists the tasks of a server of ours on a pipe, in %s", async (generation, options) => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-client-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const script = fileURLToPath(new URL("../stdio-server.ts", import.meta.url));
  const server = { command: process.execPath, args: [script, join(folder, "tasks.db")] };
  const client = await connect(server, { pollFloorMs: 1, ...options });
  onTestFinished(async () => client.close());
  expect(await all(client)).toEqual([]);
  const handle = await client.startTool("wait");
  const [listed] = await all(client);
  expect(listed?.reference).toEqual(handle.reference);
  expect(listed).toMatchObject({ status: "working", reference: { generation } });
  const bad = client.listTasks({ cursor: "made up" });
  await expect(bad).rejects.toMatchObject({ code: "rpc", error: { code: -32602 } });
  await handle.cancel();
  expect(await all(client)).toMatchObject([{ taskId: handle.taskId, status: "cancelled" }]);
});
