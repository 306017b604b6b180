import { expect, it } from "vitest";
import type { InputResult } from "../../../src/client/question/ask-user.ts";
import { memoryStore } from "../../../src/memory.ts";
import { User } from "../user.ts";
import { relatedKey, setUpCore, type CorePeer } from "./core-peer.ts";

type Answer = { readonly result: Record<string, unknown>; readonly error?: unknown };

const iso: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const messages = [{ role: "user", content: { type: "text", text: "Sum up" } }];
const said = { role: "assistant", model: "none", content: { type: "text", text: "42" } } as InputResult;
const related = (taskId: string): object => ({ [relatedKey]: { taskId } });

async function start(): Promise<{ user: User; peer: CorePeer; ask: Ask }> {
  const user = new User();
  const { peer } = await setUpCore({
    capabilities: { sampling: {} },
    onInput: user.onInput,
    receiveTasks: { store: memoryStore() },
  });
  return {
    user,
    peer,
    ask: async (method, params = {}) => (await peer.ask(method, params).answer) as Answer,
  };
}

type Ask = (method: string, params?: object) => Promise<Answer>;

const question = { messages, maxTokens: 9 };

async function create(ask: Ask): Promise<Record<string, unknown> & { taskId: string }> {
  const { result } = await ask("sampling/createMessage", {
    ...question,
    task: { ttl: 60_000, taskId: "mine" },
  });
  return result["task"] as Record<string, unknown> & { taskId: string };
}

it("shows the same task wherever it does, and its answer as the question would have had it [C-024 C-030 C-031 C-033 C-034 C-035 C-036 C-037 C-038 C-039 C-040 C-042 C-043 C-047 C-048 C-057 C-058 C-060 C-066 C-075]", async () => {
  const { user, peer, ask } = await start();
  const task = await create(ask);
  const { taskId } = task;
  const base = {
    taskId: expect.any(String) as unknown,
    createdAt: iso,
    lastUpdatedAt: iso,
    ttl: 60_000,
    pollInterval: expect.any(Number) as unknown,
  };
  expect(task).toMatchObject({ ...base, status: "working" });
  expect(taskId).not.toBe("mine");
  expect((await ask("tasks/get", { taskId })).result).toEqual(task);
  expect((await ask("tasks/list")).result["tasks"]).toEqual([task]);
  await user.isAsked(1);
  user.answer(0, said);
  const { result } = await ask("tasks/result", { taskId });
  await peer.sees("notifications/tasks/status");
  const ended = { ...base, taskId, status: "completed", createdAt: task["createdAt"] };
  expect((await ask("tasks/get", { taskId })).result).toMatchObject(ended);
  expect(peer.params("notifications/tasks/status")).toMatchObject([ended]);
  const plain = ask("sampling/createMessage", question);
  await user.isAsked(2);
  user.answer(1, said);
  expect(result).toEqual({ ...(await plain).result, _meta: related(taskId) });
});

it("gives a failure as the question would have had it [C-043 C-061]", async () => {
  const { user, ask } = await start();
  const { taskId } = await create(ask);
  await user.isAsked(1);
  user.fail(0);
  const { error } = await ask("tasks/result", { taskId });
  const plain = ask("sampling/createMessage", question);
  await user.isAsked(2);
  user.fail(1);
  expect(error).toEqual((await plain).error);
  expect((await ask("tasks/get", { taskId })).result).toMatchObject({ status: "failed" });
});

it("changes no task that has ended, and heeds the id in the params alone [C-041 C-045 C-077 C-078 C-100 C-110 C-111]", async () => {
  const { user, ask } = await start();
  const [one, two] = [await create(ask), await create(ask)];
  expect(one.taskId).not.toBe(two.taskId);
  await user.isAsked(2);
  const cancelled = await ask("tasks/cancel", { taskId: one.taskId, _meta: related(two.taskId) });
  expect(cancelled.result).toMatchObject({
    taskId: one.taskId,
    status: "cancelled",
    createdAt: iso,
    ttl: 60_000,
  });
  user.answer(0, said);
  user.answer(1, said);
  expect(
    (await ask("tasks/result", { taskId: two.taskId, _meta: related(one.taskId) })).result,
  ).toMatchObject(said);
  for (const { taskId } of [one, two]) {
    const before = (await ask("tasks/get", { taskId })).result;
    expect(await ask("tasks/cancel", { taskId })).toMatchObject({ error: { code: -32602 } });
    expect((await ask("tasks/get", { taskId })).result).toEqual(before);
  }
  for (const cursor of ["garbage", 7]) {
    expect(await ask("tasks/list", { cursor })).toMatchObject({ error: { code: -32602 } });
  }
});
