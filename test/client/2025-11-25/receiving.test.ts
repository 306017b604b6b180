import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ConnectOptions } from "../../../src/client/connect-options.ts";
import type { InputResult } from "../../../src/client/question/ask-user.ts";
import { memoryStore } from "../../../src/memory.ts";
import { sqliteStore } from "../../../src/sqlite.ts";
import { User } from "../user.ts";
import { relatedKey, setUpCore, taskId as ofServer, type CorePeer, type CoreSetup } from "./core-peer.ts";

const accept = { action: "accept" as const, content: { ok: true } };
const form = { message: "Send it?", requestedSchema: { type: "object", properties: {} } };
const messages = [{ role: "user", content: { type: "text", text: "Sum up" } }];
const said = { role: "assistant", model: "none", content: { type: "text", text: "42" } } as InputResult;

const capabilities = { elicitation: { form: {} }, sampling: {} };

async function setUp(user: User, store = memoryStore(), options: ConnectOptions = {}): Promise<CoreSetup> {
  return setUpCore({ capabilities, onInput: user.onInput, receiveTasks: { store }, ...options });
}

async function create(peer: CorePeer, method = "elicitation/create", params: object = form): Promise<string> {
  const { result } = (await peer.ask(method, { ...params, task: {} }).answer) as {
    result: { task: { taskId: string } };
  };
  return result.task.taskId;
}

const ask = async (peer: CorePeer, method: string, params: object): Promise<Record<string, unknown>> =>
  peer.ask(method, params).answer;

describe("a client that takes tasks", () => {
  it("declares what it can answer, and nothing without a store [C-001 C-004 C-006]", async () => {
    const { peer } = await setUp(new User());
    expect(peer.params("initialize")[0]?.["capabilities"]).toEqual({
      ...capabilities,
      experimental: { "holdfast/taskLines": {} },
      tasks: {
        list: {},
        cancel: {},
        requests: { elicitation: { create: {} }, sampling: { createMessage: {} } },
      },
    });
    const one = await setUp(new User(), memoryStore(), { capabilities: { elicitation: {} } });
    expect(one.peer.params("initialize")[0]).toMatchObject({
      capabilities: { tasks: { requests: { elicitation: { create: {} } } } },
    });
  });

  it("answers a question with a task, at once, and with its result when there is one [C-012 C-022 C-023 C-059 C-063]", async () => {
    const user = new User();
    const { peer } = await setUp(user);
    const { answer } = peer.ask("sampling/createMessage", { messages, maxTokens: 9, task: { ttl: 60_000 } });
    const created = (await answer) as { result: { task: { taskId: string } } };
    const { taskId } = created.result.task;
    expect(created.result).toMatchObject({
      task: { status: "working", ttl: 60_000 },
      _meta: { [relatedKey]: { taskId } },
    });
    const waiting = ask(peer, "tasks/result", { taskId });
    await user.isAsked(1);
    expect(user.asked).toMatchObject([
      { method: "sampling/createMessage", taskId: null, params: { messages } },
    ]);
    expect(await ask(peer, "tasks/get", { taskId })).toMatchObject({ result: { taskId, status: "working" } });
    user.answer(0, said);
    expect(await waiting).toMatchObject({ result: { ...said, _meta: { [relatedKey]: { taskId } } } });
    expect(await ask(peer, "tasks/get", { taskId })).toMatchObject({ result: { status: "completed" } });
    expect(await ask(peer, "tasks/result", { taskId })).toMatchObject({ result: { ...said } });
    await peer.sees("notifications/tasks/status");
    expect(peer.params("notifications/tasks/status")).toMatchObject([{ taskId, status: "completed" }]);
  });

  it("takes a message that comes twice for one", async () => {
    const user = new User();
    const { peer, client } = await setUp(user);
    const { id, answer } = peer.ask("elicitation/create", { ...form, task: {} });
    void peer.ask("elicitation/create", { ...form, task: {} }, id);
    await answer;
    await user.isAsked(1);
    await peer.settled(client);
    expect(peer.seen.filter((message) => message["id"] === id)).toHaveLength(1);
    const { result } = (await ask(peer, "tasks/list", {})) as { result: { tasks: object[] } };
    expect(result.tasks).toHaveLength(1);
    expect(user.asked).toHaveLength(1);
  });

  it("keeps an elicitation's content as it is", async () => {
    const user = new User();
    const { peer } = await setUp(user);
    const taskId = await create(peer);
    await user.isAsked(1);
    user.answer(0, accept);
    const { result } = (await ask(peer, "tasks/result", { taskId })) as { result: object };
    expect(result).toEqual({ ...accept, _meta: { [relatedKey]: { taskId } } });
  });

  it("fails a task whose question cannot be answered, and declines for a user who cannot be asked", async () => {
    const user = new User();
    const { peer } = await setUp(user);
    const sampled = await create(peer, "sampling/createMessage", { messages, maxTokens: 9 });
    await user.isAsked(1);
    user.fail(0);
    expect(await ask(peer, "tasks/result", { taskId: sampled })).toMatchObject({ error: { code: -32603 } });
    expect(await ask(peer, "tasks/get", { taskId: sampled })).toMatchObject({ result: { status: "failed" } });
    const elicited = await create(peer);
    await user.isAsked(2);
    user.fail(1);
    expect(await ask(peer, "tasks/result", { taskId: elicited })).toMatchObject({
      result: { action: "cancel" },
    });
  });

  it("cancels before it answers, tells who waits, and takes the question back [C-080 C-081]", async () => {
    const user = new User();
    const { peer } = await setUp(user);
    const taskId = await create(peer);
    await user.isAsked(1);
    const waiting = ask(peer, "tasks/result", { taskId });
    expect(await ask(peer, "tasks/cancel", { taskId })).toMatchObject({
      result: { taskId, status: "cancelled" },
    });
    expect(await waiting).toMatchObject({ error: { code: -32602 } });
    expect(user.asked[0]?.signal.aborted).toBe(true);
    user.answer(0, accept);
    expect(await ask(peer, "tasks/get", { taskId })).toMatchObject({ result: { status: "cancelled" } });
    const message = 'The task cannot be cancelled: it is already in terminal status "cancelled".';
    expect(await ask(peer, "tasks/cancel", { taskId })).toMatchObject({ error: { code: -32602, message } });
  });

  it("lists the server's tasks in pages [C-070 C-071 C-072 C-073]", async () => {
    const { peer } = await setUp(new User());
    const made = new Set<string>();
    for (let count = 0; count < 51; count++) made.add(await create(peer));
    const first = (await ask(peer, "tasks/list", {})) as { result: { tasks: object[]; nextCursor: string } };
    expect(first.result.tasks).toHaveLength(50);
    const { nextCursor: cursor } = first.result;
    const second = (await ask(peer, "tasks/list", { cursor })) as { result: { tasks: { taskId: string }[] } };
    expect(made.has(second.result.tasks[0]?.taskId ?? "")).toBe(true);
    expect(second.result).not.toHaveProperty("nextCursor");
    expect(await ask(peer, "tasks/list", { cursor: "x" })).toMatchObject({ error: { code: -32602 } });
  });

  it("names the server's task above, wherever it shows the task of that one's question", async () => {
    const user = new User();
    const { peer } = await setUp(user);
    const question = { ...form, _meta: { [relatedKey]: { taskId: ofServer } }, task: {} };
    const made = (await peer.ask("elicitation/create", question).answer) as {
      result: { task: { taskId: string } };
    };
    const { taskId } = made.result.task;
    const below = { taskId, _meta: { "holdfast/parent": { taskId: ofServer } } };
    expect(made.result.task).toMatchObject(below);
    expect(await ask(peer, "tasks/get", { taskId })).toMatchObject({ result: below });
    expect(await ask(peer, "tasks/list", {})).toMatchObject({ result: { tasks: [below] } });
    await user.isAsked(1);
    user.answer(0, accept);
    await peer.sees("notifications/tasks/status");
    expect(peer.params("notifications/tasks/status")).toMatchObject([below]);
    const other = await create(peer); // of no task
    expect(await ask(peer, "tasks/cancel", { taskId: other })).not.toHaveProperty("result._meta");
  });

  it("records when the server first fetches an answer [C-129]", async () => {
    const user = new User();
    const store = memoryStore();
    const { peer } = await setUp(user, store);
    const taskId = await create(peer);
    await user.isAsked(1);
    user.answer(0, accept);
    await peer.sees("notifications/tasks/status");
    await ask(peer, "tasks/get", { taskId }); // which has no answer in it
    expect(await store.get(taskId)).not.toHaveProperty("retrieved");
    await ask(peer, "tasks/result", { taskId });
    await vi.waitUntil(async () => (await store.get(taskId))?.retrieved?.via === "tasks/result", {
      timeout: 20_000,
    });
  });

  it("leaves a wait that the server takes back unanswered [C-088]", async () => {
    const { peer, client } = await setUp(new User());
    const taskId = await create(peer);
    const { id } = peer.ask("tasks/result", { taskId });
    await peer.settled(client);
    peer.notify("notifications/cancelled", { requestId: id });
    await ask(peer, "tasks/cancel", { taskId });
    await peer.settled(client);
    expect(peer.seen.filter((message) => message["id"] === id)).toEqual([]);
  });

  it.each([
    ["an id that there is not", "tasks/get", { taskId: "none" }, -32602],
    ["no id", "tasks/result", {}, -32602],
    ["a ttl that is none", "elicitation/create", { ...form, task: { ttl: -1 } }, -32602],
  ])("refuses %s [C-109 A-15]", async (_, method, params, code) => {
    const { peer } = await setUp(new User());
    expect(await ask(peer, method, params)).toMatchObject({ error: { code } });
  });

  it("answers a plain question plainly, unless it is told to demand tasks [C-028 C-029 C-113]", async () => {
    const user = new User();
    const { peer } = await setUp(user);
    const plain = ask(peer, "elicitation/create", form);
    await user.isAsked(1);
    user.answer(0, accept);
    expect(await plain).toMatchObject({ result: accept });
    const strict = await setUp(user, undefined, { receiveTasks: { store: memoryStore(), required: true } });
    expect(await ask(strict.peer, "elicitation/create", form)).toMatchObject({ error: { code: -32600 } });
    const without = await setUpCore({ capabilities, onInput: user.onInput });
    const ignored = ask(without.peer, "elicitation/create", { ...form, task: {} });
    await user.isAsked(2);
    user.answer(1, accept);
    expect(await ignored).toMatchObject({ result: accept });
    expect(await ask(without.peer, "tasks/list", {})).toMatchObject({ error: { code: -32601 } });
  });

  it("hides the tasks of one server from another [C-118 C-119 C-120]", async () => {
    const user = new User();
    const store = memoryStore();
    const ours = await setUp(user, store, { serverName: "ours" });
    const theirs = await setUp(user, store, { serverName: "theirs" });
    const taskId = await create(ours.peer);
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      expect(await ask(theirs.peer, method, { taskId })).toMatchObject({ error: { code: -32602 } });
    }
    expect(await ask(theirs.peer, "tasks/list", {})).toMatchObject({ result: { tasks: [] } });
    expect(await ask(ours.peer, "tasks/list", {})).toMatchObject({ result: { tasks: [{ taskId }] } });
  });

  it("asks again after a restart what was not answered, and keeps what was", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-receiver-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "client-tasks.db");
    const before = new User();
    const first = await setUp(before, sqliteStore(file));
    const answered = await create(first.peer);
    await before.isAsked(1);
    before.answer(0, accept);
    await ask(first.peer, "tasks/result", { taskId: answered });
    const open = await create(first.peer, "sampling/createMessage", { messages, maxTokens: 9 });
    await before.isAsked(2);
    await first.client.close();
    expect(before.asked[1]?.signal.aborted).toBe(true);

    const after = new User();
    const second = await setUp(after, sqliteStore(file));
    await after.isAsked(1);
    expect(after.asked).toMatchObject([{ method: "sampling/createMessage" }]);
    expect(await ask(second.peer, "tasks/result", { taskId: answered })).toMatchObject({ result: accept });
    const waiting = ask(second.peer, "tasks/result", { taskId: open });
    after.answer(0, said);
    expect(await waiting).toMatchObject({ result: { ...said } });
  });

  it("takes a question that a server's task asks again for the one that is open", async () => {
    const user = new User();
    const { peer } = await setUp(user);
    const related = { ...form, _meta: { [relatedKey]: { taskId: ofServer } } };
    const first = await create(peer, "elicitation/create", related);
    await user.isAsked(1);
    expect(user.asked[0]?.taskId).toBe(ofServer);
    expect(await create(peer, "elicitation/create", related)).toBe(first);
    expect(await create(peer)).not.toBe(first);
    await user.isAsked(2);
    user.answer(0, accept);
    await ask(peer, "tasks/result", { taskId: first });
    expect(await create(peer, "elicitation/create", related)).not.toBe(first);
  });

  it("finds the task of a question by its name also after the answer and a restart, and another for another", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-receiver-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "client-tasks.db");
    const named = (key: string): object => {
      const _meta = { [relatedKey]: { taskId: ofServer }, "holdfast/questionKey": key };
      return { ...form, _meta };
    };
    const user = new User();
    const first = await setUp(user, sqliteStore(file));
    const taskId = await create(first.peer, "elicitation/create", named("a"));
    await user.isAsked(1);
    user.answer(0, accept);
    await ask(first.peer, "tasks/result", { taskId });
    await first.client.close();

    const second = await setUp(user, sqliteStore(file));
    expect(await create(second.peer, "elicitation/create", named("a"))).toBe(taskId);
    expect(await ask(second.peer, "tasks/result", { taskId })).toMatchObject({ result: accept });
    expect(await create(second.peer, "elicitation/create", named("b"))).not.toBe(taskId);
    await user.isAsked(2);
    expect(user.asked).toHaveLength(2);
  });

  it("gives the store free when it cannot connect", async () => {
    const store = memoryStore();
    const receiveTasks = { store };
    const refused = setUpCore({ receiveTasks, onInput: async () => accept }, { tools: { listChanged: 5 } });
    await expect(refused).rejects.toMatchObject({ code: "protocol" });
  });
});
