import assert from "node:assert/strict";
import { assertMembers } from "./assert-members.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";
import { changesOf } from "./told-changes.ts";
import { wholeJournal } from "./whole-journal.ts";

const remove = { type: "delete", now: noon, id: "task-a" } as const;
const wire = { generation: "sep-1686", scope: "s", wireId: "mine" } as const;

export const deleteCases = storeCases("delete", {
  "a finished task goes with all that belongs to it, and its ids are free": async ({ store }) => {
    await store.write(createRunning("a", { ...wire, idempotencyKey: "i" }));
    const held = { id: "task-a", now: noon, token: "t1" };
    await store.write({ type: "record_step", ...held, key: "k", value: "1", error: null });
    await store.write({ type: "settle", ...held, outcome: { kind: "result", body: "{}" } });
    assert.deepEqual(await store.write(remove), { ok: true });
    assert.equal(await store.get("task-a"), undefined);
    assert.equal(await store.snapshot("task-a"), undefined);
    assert.equal(await store.request("task-a"), undefined);
    assert.deepEqual(await wholeJournal(store, "task-a"), []);
    assert.equal(await store.find(wire), undefined);
    assert.deepEqual(await store.list({ generation: "sep-1686", principal: "ann" }, null, 9, noon), []);
    assert.equal(await store.nextSweepAt(noon), null);
    const again = await store.write(createQueued("a", { ...wire, idempotencyKey: "i" }));
    assertMembers(again, { ok: true, created: true });
  },

  "one that has not ended stays": async ({ store }) => {
    await store.write(createQueued("a"));
    assert.deepEqual(await store.write(remove), { ok: false, reason: "state" });
    await store.write({ type: "start", now: noon, id: "task-a", token: "t1" });
    assert.deepEqual(await store.write(remove), { ok: false, reason: "state" });
    assertMembers(await store.get("task-a"), { state: "running" });
  },

  "one that is not there is unknown, and so is one that was deleted": async ({ store }) => {
    assert.deepEqual(await store.write(remove), { ok: false, reason: "unknown" });
    await store.write(createQueued("a"));
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    await store.write(remove);
    assert.deepEqual(await store.write(remove), { ok: false, reason: "unknown" });
  },

  "whoever watches hears of it once": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    const heard = changesOf(store);
    await store.write(remove);
    await store.write(remove);
    assert.deepEqual(heard, [{ id: "task-a", version: null }]);
  },

  "there is room for another one": async ({ store }) => {
    const one = { unfinished: null, retained: 1 };
    const quota = { perPrincipal: one, total: one };
    await store.write({ ...createQueued("a"), quota });
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    assertMembers(await store.write({ ...createQueued("b"), quota }), { reason: "quota" });
    await store.write(remove);
    assertMembers(await store.write({ ...createQueued("b"), quota }), { created: true });
  },
});
