import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ConnectOptions } from "../../../src/client/connect-options.ts";
import type { InputResult } from "../../../src/client/question/ask-user.ts";
import { memoryStore } from "../../../src/memory.ts";
import { sqliteStore } from "../../../src/sqlite.ts";
import type { CorePeer, CoreSetup, Message } from "../2025-11-25/core-peer.ts";
import { User } from "../user.ts";
import { related, setUpSep, taskKey } from "./sep-peer.ts";

const accept = { action: "accept" as const, content: { ok: true } };
const form = { message: "Send it?", requestedSchema: { type: "object", properties: {} } };
const messages = [{ role: "user", content: { type: "text", text: "Sum up" } }];
const said = { role: "assistant", model: "none", content: { type: "text", text: "42" } } as InputResult;
const capabilities = { elicitation: { form: {} }, sampling: {} };
const created = "notifications/tasks/created";
const patience = { timeout: 20_000 };

async function setUp(
  user: User,
  store = memoryStore(),
  options: ConnectOptions = {},
  version?: string,
): Promise<CoreSetup> {
  const given = { capabilities, onInput: user.onInput, receiveTasks: { store }, ...options };
  return setUpSep(given, { tools: {} }, version);
}

/** Params of a question that asks for a task. */
function asTask(taskId: unknown, params: object = form, keepAlive?: number): object {
  return { ...params, _meta: { [taskKey]: { taskId, ...(keepAlive !== undefined && { keepAlive }) } } };
}

const about = async (peer: CorePeer, method: string, taskId: string): Promise<Message> =>
  peer.ask(method, { taskId, _meta: related(taskId) }).answer;

const status = async (peer: CorePeer, taskId: string): Promise<unknown> =>
  ((await about(peer, "tasks/get", taskId))["result"] as Message)["status"];

/** A question that the user has been asked and not answered. */
async function asked(setup: CoreSetup, user: User, taskId = "theirs-1", params: object = form) {
  const before = user.asked.length;
  const question = setup.peer.ask("elicitation/create", asTask(taskId, params));
  await user.isAsked(before + 1);
  return question;
}

describe("a client that takes tasks of SEP-1686", () => {
  it("declares booleans, which the SDK's server takes, before 2025-11-25 and where it is told to [S-003 A-46]", async () => {
    const tasks = { elicitation: { create: true }, sampling: { createMessage: true } };
    const experimental = { "holdfast/taskLines": {} };
    const old = await setUp(new User(), undefined, { protocolVersion: "2025-06-18" });
    expect(old.peer.params("initialize")[0]?.["capabilities"]).toEqual({
      ...capabilities,
      experimental,
      tasks,
    });
    const told = await setUp(
      new User(),
      undefined,
      { generation: "sep-1686", capabilities: { elicitation: {} } },
      "2025-11-25",
    );
    expect(told.peer.params("initialize")[0]?.["capabilities"]).toEqual({
      elicitation: {},
      experimental,
      tasks: { elicitation: { create: true } },
    });
  });

  it("says that the task is there, asks the user, and answers the request in the end [S-002 S-011 S-012 S-013 S-015 S-035 S-036 S-037 S-040 S-061 S-073]", async () => {
    const user = new User();
    const { peer } = await setUp(user);
    const params = asTask("theirs-1", { messages, maxTokens: 9 }, 1e15);
    const { id, answer } = peer.ask("sampling/createMessage", params);
    await peer.sees(created);
    expect(peer.params(created)).toEqual([{ _meta: related("theirs-1") }]);
    const first = await about(peer, "tasks/get", "theirs-1");
    expect(first["result"]).toMatchObject({ taskId: "theirs-1", keepAlive: 30 * 24 * 3_600_000 });
    await user.isAsked(1);
    expect(user.asked).toMatchObject([
      { method: "sampling/createMessage", taskId: null, params: { messages } },
    ]);
    expect(user.asked[0]?.params).toMatchObject({ _meta: {} });
    expect(JSON.stringify(user.asked[0]?.params)).not.toContain("theirs-1");
    expect(await about(peer, "tasks/get", "theirs-1")).toMatchObject({
      result: { taskId: "theirs-1", status: "working", pollFrequency: 1000, _meta: related("theirs-1") },
    });
    user.answer(0, said);
    expect((await answer)["result"]).toEqual({ ...said, _meta: related("theirs-1") });
    const [told, real] = [{ method: created }, { id }].map((one) =>
      peer.seen.findIndex((message) => Object.entries(one).every(([key, value]) => message[key] === value)),
    );
    expect(told).toBeLessThan(real ?? -1);
    for (let times = 0; times < 2; times++) {
      const result = await about(peer, "tasks/result", "theirs-1");
      expect(result["result"]).toEqual({ ...said, _meta: related("theirs-1") });
    }
    expect(await status(peer, "theirs-1")).toBe("completed");
  });

  it("refuses the result of what is not completed, at once, and says why a task failed [S-041 S-042 S-078 S-082 S-083]", async () => {
    const user = new User();
    const setup = await setUp(user);
    const { peer } = setup;
    await asked(setup, user);
    expect(await about(peer, "tasks/result", "theirs-1")).toMatchObject({ error: { code: -32602 } });
    const sampling = asTask("theirs-2", { messages, maxTokens: 9 });
    const { answer } = peer.ask("sampling/createMessage", sampling);
    await user.isAsked(2);
    user.fail(1);
    expect(await answer).toMatchObject({ error: { code: -32603 } });
    expect(await about(peer, "tasks/result", "theirs-2")).toMatchObject({ error: { code: -32602 } });
    const failed = { taskId: "theirs-2", status: "failed", error: "The question could not be answered." };
    expect(await about(peer, "tasks/get", "theirs-2")).toMatchObject({ result: failed });
    const { result } = (await peer.ask("tasks/list", {}).answer) as {
      result: { tasks: { taskId: string }[] };
    };
    // Newest first, but both may be of one millisecond.
    const listed = result.tasks.toSorted((a, b) => a.taskId.localeCompare(b.taskId));
    expect(listed).toMatchObject([{ taskId: "theirs-1" }, failed]);
  });

  it("refuses an id that is in use or is none, and leaves the first request alone [S-007 S-020 S-022 S-077 A-19]", async () => {
    const user = new User();
    const setup = await setUp(user);
    const { peer } = setup;
    const first = await asked(setup, user);
    for (const taskId of ["theirs-1", 5, ""]) {
      const again = peer.ask("elicitation/create", asTask(taskId));
      expect(await again.answer).toMatchObject({ error: { code: -32602 } });
    }
    expect(peer.of(created)).toHaveLength(1);
    user.answer(0, accept);
    expect(await first.answer).toMatchObject({ result: accept });
  });

  it("takes a message that comes twice for one", async () => {
    const user = new User();
    const setup = await setUp(user);
    const { peer, client } = setup;
    const first = await asked(setup, user);
    void peer.ask("elicitation/create", asTask("theirs-1"), first.id);
    await peer.settled(client);
    user.answer(0, accept);
    expect(await first.answer).toMatchObject({ result: accept });
    await peer.settled(client);
    expect(peer.seen.filter((message) => message["id"] === first.id)).toHaveLength(1);
  });

  it("cancels by the id of the request, and answers that no more [S-063 S-065 S-066 S-069]", async () => {
    const user = new User();
    const setup = await setUp(user);
    const { peer, client } = setup;
    const { id } = await asked(setup, user);
    peer.notify("notifications/cancelled", { requestId: "another" });
    await peer.settled(client);
    expect(user.asked[0]?.signal.aborted).toBe(false);
    const withdrawn = new Promise((resolve) => user.asked[0]?.signal.addEventListener("abort", resolve));
    peer.notify("notifications/cancelled", { requestId: id, _meta: related("of-the-server") });
    await withdrawn;
    expect(await status(peer, "theirs-1")).toBe("cancelled");
    user.answer(0, accept);
    peer.notify("notifications/cancelled", { requestId: id });
    await peer.settled(client);
    expect(await status(peer, "theirs-1")).toBe("cancelled");
    expect(peer.seen.filter((message) => message["id"] === id)).toEqual([]);
  });

  it("deletes what has ended, and frees its id [S-051 S-053 S-054 S-075 A-21]", async () => {
    const user = new User();
    const setup = await setUp(user);
    const { peer } = setup;
    const { answer } = await asked(setup, user);
    expect(await about(peer, "tasks/delete", "theirs-1")).toMatchObject({ error: { code: -32602 } });
    user.answer(0, accept);
    await answer;
    expect((await about(peer, "tasks/delete", "theirs-1"))["result"]).toEqual({ _meta: related("theirs-1") });
    for (const method of ["tasks/get", "tasks/result", "tasks/delete"]) {
      expect(await about(peer, method, "theirs-1")).toMatchObject({ error: { code: -32602 } });
    }
    await asked(setup, user);
  });

  it("lists the server's tasks in pages, without related-task [S-045 S-046 S-047 S-049 S-076 A-20]", async () => {
    const { peer } = await setUp(new User());
    const made = new Set<string>();
    for (let count = 1; count <= 51; count++) {
      void peer.ask("elicitation/create", asTask(`theirs-${count}`));
      await peer.sees(created, count);
      made.add(`theirs-${count}`);
    }
    type Page = { result: { tasks: { taskId: string }[]; nextCursor?: string } };
    const first = (await peer.ask("tasks/list", {}).answer) as Page;
    expect(first.result.tasks).toHaveLength(50);
    expect(first.result).not.toHaveProperty("_meta");
    const { nextCursor: cursor } = first.result;
    const second = (await peer.ask("tasks/list", { cursor }).answer) as Page;
    expect(second.result).not.toHaveProperty("nextCursor");
    const seen = [...first.result.tasks, ...second.result.tasks].map(({ taskId }) => taskId);
    expect(new Set(seen)).toEqual(made);
    expect(await peer.ask("tasks/list", { cursor: "x" }).answer).toMatchObject({ error: { code: -32602 } });
  });

  it("names the server's task above, wherever it shows the task of that one's question", async () => {
    const user = new User();
    const setup = await setUp(user);
    const { peer } = setup;
    const _meta = { [taskKey]: { taskId: "theirs-1" }, ...related("ours") };
    void peer.ask("elicitation/create", { ...form, _meta });
    await user.isAsked(1);
    const below = { taskId: "theirs-1", _meta: { "holdfast/parent": { taskId: "ours" } } };
    expect(await about(peer, "tasks/get", "theirs-1")).toMatchObject({ result: below });
    expect(await peer.ask("tasks/list", {}).answer).toMatchObject({ result: { tasks: [below] } });
    await asked(setup, user, "theirs-2"); // of no task
    const alone = await about(peer, "tasks/get", "theirs-2");
    expect(alone).not.toHaveProperty(["result", "_meta", "holdfast/parent"]);
  });

  it("records when the server first fetches an answer [S-095]", async () => {
    const user = new User();
    const store = memoryStore();
    const setup = await setUp(user, store);
    const { answer } = await asked(setup, user);
    user.answer(0, accept);
    await answer; // the answer to the question itself
    const [task] = await store.list({ generation: "sep-1686" }, null, 1, 0);
    expect(task?.wireId).toBe("theirs-1");
    expect(task).not.toHaveProperty("retrieved");
    await about(setup.peer, "tasks/result", "theirs-1");
    await vi.waitUntil(
      async () => (await store.get(task?.id ?? ""))?.retrieved?.via === "tasks/result",
      patience,
    );
  });

  it("puts a named question once, which its task asks again as another task [S-015 S-021 S-062]", async () => {
    const user = new User();
    const setup = await setUp(user);
    const { peer } = setup;
    const named = (taskId: string, of = "ours"): object => {
      const _meta = { [taskKey]: { taskId }, ...related(of), "holdfast/questionKey": "approve" };
      return { ...form, _meta };
    };
    const first = peer.ask("elicitation/create", named("theirs-1"));
    await user.isAsked(1);
    expect(user.asked[0]?.taskId).toBe("ours");
    const second = peer.ask("elicitation/create", named("theirs-2"));
    await peer.sees(created, 2);
    peer.notify("notifications/cancelled", { requestId: first.id });
    user.answer(0, accept);
    expect((await second.answer)["result"]).toEqual({ ...accept, _meta: related("theirs-2") });
    const third = peer.ask("elicitation/create", named("theirs-3"));
    expect(await third.answer).toMatchObject({ result: accept });
    expect(user.asked).toHaveLength(1);
    const ofAnother = peer.ask("elicitation/create", named("theirs-4", "another"));
    await user.isAsked(2);
    peer.notify("notifications/cancelled", { requestId: ofAnother.id });
    const alone = peer.ask("elicitation/create", named("theirs-5", "third"));
    await user.isAsked(3);
    const withdrawn = new Promise((resolve) => user.asked[2]?.signal.addEventListener("abort", resolve));
    peer.notify("notifications/cancelled", { requestId: alone.id });
    await withdrawn;
  });

  it("answers a question that asks for no task, or that it does not take, as ever [S-005 S-009 S-014]", async () => {
    const user = new User();
    const { peer } = await setUp(user, undefined, { capabilities: { elicitation: { form: {} } } });
    const plain = peer.ask("elicitation/create", form);
    await user.isAsked(1);
    user.answer(0, accept);
    expect((await plain.answer)["result"]).toEqual(accept);
    const sampling = peer.ask("sampling/createMessage", asTask("theirs-1", { messages, maxTokens: 9 }));
    expect(await sampling.answer).toMatchObject({ error: { code: -32601 } });
    const without = await setUpSep({ capabilities, onInput: user.onInput });
    const ignored = without.peer.ask("elicitation/create", asTask("theirs-1"));
    await user.isAsked(2);
    user.answer(1, accept);
    expect((await ignored.answer)["result"]).toEqual(accept);
    expect([...peer.of(created), ...without.peer.of(created)]).toEqual([]);
  });

  it("lets two servers use the same id, and hides the tasks of one from the other [S-085 S-087 A-43]", async () => {
    const user = new User();
    const store = memoryStore();
    const ours = await setUp(user, store, { serverName: "ours" });
    const theirs = await setUp(user, store, { serverName: "theirs" });
    const both = await asked(ours, user, "same");
    await asked(theirs, user, "same");
    const alone = await asked(ours, user, "alone");
    for (const method of ["tasks/get", "tasks/result", "tasks/delete"]) {
      expect(await about(theirs.peer, method, "alone")).toMatchObject({ error: { code: -32602 } });
    }
    theirs.peer.notify("notifications/cancelled", { requestId: alone.id });
    expect(await theirs.peer.ask("tasks/list", {}).answer).toMatchObject({
      result: { tasks: [{ taskId: "same" }] },
    });
    user.answer(0, accept);
    await both.answer;
    expect(await status(theirs.peer, "same")).toBe("working");
    expect(await status(ours.peer, "alone")).toBe("working");
  });

  it("keeps what was answered through a restart, and asks again what was not [S-013 S-043 A-43]", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-receiver-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "client-tasks.db");
    const before = new User();
    const first = await setUp(before, sqliteStore(file));
    const answered = await asked(first, before, "answered");
    before.answer(0, accept);
    await answered.answer;
    await asked(first, before, "open", { ...form, message: "And this?" });
    await first.client.close();
    expect(before.asked[1]?.signal.aborted).toBe(true);

    const after = new User();
    const { peer } = await setUp(after, sqliteStore(file));
    await after.isAsked(1);
    expect(after.asked).toMatchObject([{ params: { message: "And this?" } }]);
    expect(await about(peer, "tasks/result", "answered")).toMatchObject({ result: accept });
    // The server may send its request again under the id that it has (S-023).
    const again = peer.ask("elicitation/create", asTask("open", { ...form, message: "And this?" }));
    expect(await again.answer).toMatchObject({ error: { code: -32602 } });
    expect(await status(peer, "open")).toBe("working");
    after.answer(0, accept);
    for (;;) if ((await status(peer, "open")) === "completed") break;
    expect(await about(peer, "tasks/result", "open")).toMatchObject({ result: accept });
  });
});
