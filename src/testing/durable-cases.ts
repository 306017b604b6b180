import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import { assertMembers } from "./assert-members.ts";
import { reclaimGone } from "./reclaim-gone.ts";
import { askAs, callDown, settleAs } from "./sample-call.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";
import { wholeJournal } from "./whole-journal.ts";

const id = "task-a";

/** Everything that a store reveals about one task. */
async function allOf(store: TaskStore): Promise<readonly unknown[]> {
  return [await store.snapshot(id), await store.request(id), await wholeJournal(store, id)];
}

function step(key: string) {
  return { type: "record_step", now: noon, id, token: "t1", key, value: "1", error: null } as const;
}

function question(key: string) {
  const input = { key, method: "elicitation/create", params: "{}" } as const;
  return {
    type: "open_input",
    now: noon,
    id,
    token: "t1",
    input,
    requestHash: "h",
    deadlineAt: null,
  } as const;
}

const outcome = { kind: "result", body: '{ "a":1.0, "s":"\\ud800" }' } as const;

/** For stores that keep what they acknowledged: each case checks through a second store. */
export const durableCases = storeCases("reopen", {
  "a second store in the same place finds what was kept": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    await store.write(step("k"));
    const before = await allOf(store);
    assert.deepEqual(await allOf(await reopen()), before);
  },

  "a write that was made before close is kept": async ({ store, reopen }) => {
    const writes = Array.from({ length: 50 }, (_, index) => store.write(createQueued(`w${index}`)));
    const second = await reopen();
    for (const result of await Promise.all(writes)) assert.equal(result.ok, true);
    assert.equal((await second.unfinished("", 100)).length, 50);
  },

  "a running task is still held by its token": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    const second = await reopen();
    assertMembers(await second.unfinished("", 10), [{ id, state: "running", token: "t1", crashes: 0 }]);
    assert.deepEqual(await second.write({ ...step("k"), token: "t2" }), { ok: false, reason: "fenced" });
    assertMembers(await second.write(step("k")), { ok: true });
  },

  "the journal goes on where it stood": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    for (const command of [question("z"), step("m"), question("y")]) await store.write(command);
    const second = await reopen();
    assert.deepEqual(await second.write(step("m")), { ok: false, reason: "duplicate" });
    await second.write(step("b"));
    const answers = [{ key: "y", value: "{}" }];
    assertMembers(await second.write({ type: "answer_inputs", now: noon, id, answers }), { accepted: ["y"] });
    const keys = (await wholeJournal(second, id)).map(({ key }) => key);
    assert.deepEqual(keys, ["z", "m", "y", "b"]);
    assertMembers(await second.snapshot(id), { task: { openInputs: 1 }, inputs: [{ key: "z" }] });
  },

  "a finished task stays finished, with its outcome": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "settle", now: noon, id, token: "t1", outcome });
    const before = await allOf(store);
    const second = await reopen();
    const again = await second.write({ type: "cancel", now: noon + 1, id });
    assert.deepEqual(again, { ok: false, reason: "finished" });
    assert.deepEqual(await allOf(second), before);
    assert.deepEqual((await second.snapshot(id))?.outcome, outcome);
  },

  "a call that is repeated finds its task": async ({ store, reopen }) => {
    await store.write(createQueued("a", { idempotencyKey: "i" }));
    const second = await reopen();
    const again = await second.write(createQueued("b", { idempotencyKey: "i" }));
    assertMembers(again, { ok: true, created: false, task: { id } });
    const taken = await second.write(createQueued("c", { wireId: id }));
    assert.deepEqual(taken, { ok: false, reason: "taken" });
  },

  "a secret stays the same": async ({ store, reopen }) => {
    await store.write({ type: "keep_secret", now: noon, name: "one", value: "first" });
    const second = await reopen();
    const kept = await second.write({ type: "keep_secret", now: noon, name: "one", value: "second" });
    assert.deepEqual(kept, { ok: true, value: "first" });
  },

  "sessions are found": async ({ store, reopen }) => {
    const session = { id: "s", principal: null, expiresAt: noon, state: "{}" };
    await store.sessions?.put(session, { ofPrincipal: 1, total: 1 });
    const { sessions } = await reopen();
    if (sessions !== undefined) assert.deepEqual(await sessions.get("s"), session);
  },

  "messages wait where they were, without those that were bound to the process": async ({
    store,
    reopen,
  }) => {
    await store.write(createRunning("a"));
    for (const [index, bound] of [true, false, true, false].entries()) {
      await store.messages?.put(id, { body: String(index), bound }, null);
    }
    const second = await reopen();
    await reclaimGone(second);
    const { messages } = second;
    if (messages === undefined) return;
    assert.deepEqual(await messages.put(id, { body: "4", bound: true }, 3), { ok: true });
    assert.deepEqual(await messages.take(id, 1), ["1"]);
    assert.deepEqual(await messages.take(id, null), ["3", "4"]);
  },

  "the sweeper's work is still to be done, and what was deleted stays away": async ({ store, reopen }) => {
    await store.write(createQueued("a", { expiry: { from: "created", ms: 30 } }));
    await store.write(createQueued("b", { expiry: { from: "terminal", ms: 20 } }));
    await store.write({ type: "cancel", now: noon, id: "task-b" });
    await store.write(createQueued("c", { expiry: { from: "created", ms: 10 } }));
    await store.write({ type: "cancel", now: noon, id: "task-c" });
    await store.write({ type: "delete_expired", now: noon + 10, limit: 10 });
    const second = await reopen();
    assert.equal(await second.get("task-c"), undefined);
    assert.equal(await second.nextSweepAt(noon), noon + 20);
    assert.deepEqual(await second.due(noon + 30, 10), [id]);
    const deleted = await second.write({ type: "delete_expired", now: noon + 30, limit: 10 });
    assert.deepEqual(deleted, { ok: true, deleted: ["task-b"] });
  },

  "what tasks wait for comes to them: calls, questions below them, and events": async ({ store, reopen }) => {
    await callDown(store, "a", "b");
    await store.write(askAs("b", "q"));
    const event = { type: "send_event", now: noon, id, name: "paid", value: "1", limit: 9 } as const;
    await store.write({ ...event, dedupeId: "one" });
    const failed = { now: noon, id, token: "t1", key: "k", error: "{}" };
    await store.write({ ...failed, type: "retry_step", tries: 1, until: noon + 9 });
    const before = [await allOf(store), await store.get("task-b")];
    const second = await reopen();
    assert.deepEqual([await allOf(second), await second.get("task-b")], before);
    assertMembers(await second.snapshot(id), { inputs: [{ method: "elicitation/create" }] });
    assertMembers(await second.write({ ...event, dedupeId: "one" }), { isNew: false });
    const wait = { key: "w", name: "paid", requestHash: "h", deadlineAt: null };
    await second.write({ type: "wait_event", now: noon, id, token: "t1", ...wait });
    assertMembers(await second.journalEntry(id, "w"), { value: "1" });
    await second.write(settleAs("b", "2"));
    assertMembers(await second.journalEntry(id, "call-b"), { value: "2" });
    assertMembers(await second.get(id), { openInputs: 0, childInputs: 0, openWaits: 0 });
    assert.equal(await (await reopen()).get("task-b"), undefined);
  },

  "what was refused left nothing behind": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    const before = await allOf(store);
    await store.write({ ...step("k"), token: "t2" });
    await store.write({ type: "settle", now: noon, id, token: "t2", outcome });
    await store.write({ type: "start", now: noon, id, token: "t2" });
    await store.write(createQueued("b", { wireId: id }));
    const second = await reopen();
    assert.deepEqual(await allOf(second), before);
    assert.equal(await second.request("task-b"), undefined);
  },
});
