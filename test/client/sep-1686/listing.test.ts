import { expect, it } from "vitest";
import { task as coreTask } from "../2025-11-25/core-peer.ts";
import { setUpSep } from "./sep-peer.ts";

function listed(taskId: string, status: string, more: object = {}): object {
  return { taskId, status, keepAlive: 60_000, pollFrequency: 2000, ...more };
}

function shown(taskId: string, status: string, more: object = {}): object {
  const reference = { server: "transport", generation: "sep-1686", taskId };
  return { reference, taskId, status, keepAliveMs: 60_000, pollIntervalMs: 2000, ttlMs: null, ...more };
}

it("lists tasks page by page, with the statuses that handles tell, and says of no task with it [S-044 S-048 A-20]", async () => {
  const { peer, client } = await setUpSep();
  const nextCursor = " two\n==";
  const tasks = [listed("a", "submitted"), listed("b", "input_required"), listed("c", "completed")];
  const others = [
    listed("d", "failed", { error: "no paper" }),
    listed("e", "unknown"),
    listed("f", "cancelled"),
  ];
  peer.script("tasks/list", { result: { tasks, nextCursor } }, { result: { tasks: others } });
  expect(await client.listTasks()).toEqual({
    tasks: [
      shown("a", "working", { statusMessage: "Not started yet" }),
      shown("b", "input_required"),
      shown("c", "completed"),
    ],
    nextCursor,
  });
  expect(await client.listTasks({ cursor: nextCursor })).toEqual({
    tasks: [
      shown("d", "failed", { statusMessage: "no paper" }),
      shown("e", "failed"),
      shown("f", "cancelled"),
    ],
  });
  expect(peer.params("tasks/list")).toEqual([{}, { cursor: nextCursor }]);
});

it("names its generation to a server that has tasks of its own revision too [A-46]", async () => {
  const { peer, client } = await setUpSep({ generation: "sep-1686" }, { tools: {} }, "2025-11-25");
  peer.script("tasks/list", { result: { tasks: [] } });
  await client.listTasks();
  const _meta = { "modelcontextprotocol.io/related-task": { taskId: "tasks/list" } };
  expect(peer.params("tasks/list")).toEqual([{ _meta }]);
});

it("takes no other generation's tasks for its own", async () => {
  const { peer, client } = await setUpSep();
  peer.script("tasks/list", { result: { tasks: [coreTask("working")] } });
  await expect(client.listTasks()).rejects.toMatchObject({ code: "protocol" });
});

it("hears from a server that has no such list", async () => {
  const { client } = await setUpSep();
  await expect(client.listTasks()).rejects.toMatchObject({ code: "rpc", error: { code: -32601 } });
});
