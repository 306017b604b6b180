import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { CommandResult, TaskCommand } from "../task/command.ts";
import { latestTime } from "../task/time.ts";
import { assertMembers, ownerCases, storeCases } from "./store-case.ts";
import { createQueued, createRunning, noon, changesOf, wholeJournal } from "./sample-task.ts";

const id = "task-a";

const held = { now: noon + 1, id, token: "t1" } as const;

function wait(key: string, how: Partial<TaskCommand<"wait_event">> = {}): TaskCommand<"wait_event"> {
  return { ...held, type: "wait_event", key, name: "paid", requestHash: "h", deadlineAt: null, ...how };
}

function send(
  store: TaskStore,
  value: string,
  how: Partial<TaskCommand<"send_event">> = {},
): Promise<CommandResult<"send_event">> {
  const event = { name: "paid", value, dedupeId: null, limit: 9 };
  return store.write({ type: "send_event", now: noon + 2, id, ...event, ...how });
}

/** The values that ended waits, by their keys. */
async function valuesOf(store: TaskStore): Promise<Readonly<Record<string, string | null>>> {
  return Object.fromEntries((await wholeJournal(store, id)).map(({ key, value }) => [key, value]));
}

export const eventCases = [
  ...storeCases("events", {
    "an event with the key of a wait ends that wait, once, and is kept for no other": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(wait("v"));
      await store.write(wait("w", { deadlineAt: noon + 9 }));
      assertMembers(await send(store, "1", { key: "w" }), { ok: true, isNew: true, ended: "w" });
      const refused = { ok: false, reason: "state" };
      for (const key of ["w", "x"]) assertMembers(await send(store, "2", { key }), refused);
      assertMembers(await send(store, "2", { key: "v", name: "sent" }), refused);
      await store.write(wait("y", { deadlineAt: noon + 2 }));
      assertMembers(await send(store, "2", { key: "y" }), refused);
      assert.deepEqual(await valuesOf(store), { v: null, w: "1", y: null });
      assertMembers(await send(store, "3"), { ok: true, ended: "v" });
    },
    "a wait is journaled, and its event ends it": async ({ store }) => {
      await store.write(createRunning("a"));
      const waits = { openWaits: 1, openInputs: 0, journalled: true, version: 2 };
      assertMembers(await store.write(wait("w", { deadlineAt: noon + 9 })), { ok: true, task: waits });
      const entry = {
        key: "w",
        kind: "event",
        method: null,
        request: "paid",
        requestHash: "h",
        value: null,
        error: null,
        deadlineAt: noon + 9,
        tries: 0,
        begunAt: noon + 1,
        doneAt: null,
        doneVersion: null,
      } as const;
      assert.deepEqual(await store.journalEntry(id, "w"), entry);
      const seen = changesOf(store);
      const sent = { ok: true, isNew: true, ended: "w", task: { openWaits: 0, version: 3 } };
      assertMembers(await send(store, '{ "n":1.0 }'), sent);
      assert.deepEqual(await store.journalEntry(id, "w"), {
        ...entry,
        value: '{ "n":1.0 }',
        doneAt: noon + 2,
        doneVersion: 3,
      });
      assert.deepEqual(seen, [{ id, version: 3 }]);
    },

    "an early event is kept, changes only the version, and ends the later wait at once": async ({
      store,
    }) => {
      await store.write(createRunning("a"));
      const before = await store.get(id);
      const seen = changesOf(store);
      const task = before && { ...before, version: 2 };
      assert.deepEqual(await send(store, "1"), { ok: true, isNew: true, ended: null, task });
      assert.deepEqual([await store.get(id), seen], [task, [{ id, version: 2 }]]);
      const rest = { runAfter: latestTime, open: 1 };
      const goesOn = { openWaits: 0, waiting: false, runAfter: null, journalled: true, version: 3 };
      assertMembers(await store.write(wait("w", { rest })), { ok: true, task: goesOn });
      assertMembers(await store.journalEntry(id, "w"), { value: "1", doneAt: noon + 1, doneVersion: 3 });
      assertMembers(await store.write(wait("next", { rest })), { task: { openWaits: 1, waiting: true } });
    },

    "each wait takes one event, in order, separately for each name": async ({ store }) => {
      await store.write(createRunning("a"));
      for (const value of ["1", "2"]) await send(store, value);
      await send(store, '"other"', { name: "Paid" });
      for (const key of ["z", "y", "x"]) await store.write(wait(key));
      await store.write(wait("other", { name: "Paid" }));
      assert.deepEqual(await valuesOf(store), { z: "1", y: "2", x: null, other: '"other"' });
      await store.write(wait("w"));
      assertMembers(await send(store, "3"), { ended: "x" });
      assertMembers(await send(store, "4"), { ended: "w" });
      assertMembers(await send(store, "5"), { ended: null });
      assert.deepEqual(await valuesOf(store), { z: "1", y: "2", x: "3", other: '"other"', w: "4" });
    },

    "an event that is sent again with its id is recognized, whether it was kept or taken": async ({
      store,
    }) => {
      await store.write(createRunning("a"));
      const again = { ok: true, isNew: false, ended: null };
      assertMembers(await send(store, "1", { dedupeId: "one" }), { isNew: true });
      assertMembers(await send(store, "2", { dedupeId: "one" }), again);
      assertMembers(await send(store, "2", { dedupeId: "one", name: "other" }), again);
      await store.write(wait("w"));
      await store.write(wait("v"));
      assertMembers(await send(store, "3", { dedupeId: "one" }), again);
      assertMembers(await send(store, "4", { dedupeId: "two" }), { isNew: true, ended: "v" });
      const before = await store.get(id);
      assert.deepEqual(await send(store, "5", { dedupeId: "two" }), { ...again, task: before });
      await store.write(wait("u"));
      assert.deepEqual(await valuesOf(store), { w: "1", v: "4", u: null });
      await store.write(createRunning("b"));
      assertMembers(await send(store, "6", { id: "task-b", dedupeId: "one" }), { isNew: true });
    },

    "kept events are limited, whatever their names": async ({ store }) => {
      await store.write(createRunning("a"));
      const limit = 2;
      assertMembers(await send(store, "1", { limit, dedupeId: "one" }), { ok: true });
      assertMembers(await send(store, "2", { limit, name: "other" }), { ok: true });
      assert.deepEqual(await send(store, "3", { limit }), { ok: false, reason: "quota" });
      // A duplicate needs no room, nor does an event that a wait expects.
      assertMembers(await send(store, "1", { limit, dedupeId: "one" }), { isNew: false });
      await store.write(wait("third", { name: "third" }));
      assertMembers(await send(store, "3", { limit, name: "third" }), { ended: "third" });
      await store.write(wait("w"));
      assertMembers(await send(store, "4", { limit }), { isNew: true, ended: null });
      assertMembers(await store.write(createRunning("b")), { ok: true });
      assertMembers(await send(store, "5", { limit, id: "task-b" }), { ok: true });
    },

    "an event before the deadline ends the wait, and one at the deadline is kept for the next wait": async ({
      store,
    }) => {
      await store.write(createRunning("a"));
      await store.write(wait("late", { deadlineAt: noon + 5 }));
      await store.write(wait("soon", { deadlineAt: noon + 6 }));
      assertMembers(await send(store, "1", { now: noon + 5 }), { ended: "soon" });
      assertMembers(await send(store, "2", { now: noon + 5 }), { ended: null });
      const given = { ...held, type: "close_wait", key: "late", error: "{}" } as const;
      assertMembers(await store.write(given), { ok: true, task: { openWaits: 0 } });
      assert.deepEqual(await store.write(given), { ok: false, reason: "state" });
      assertMembers(await store.journalEntry(id, "late"), { value: null, error: "{}", doneAt: noon + 1 });
      await store.write(wait("next"));
      assert.deepEqual(await valuesOf(store), { late: null, soon: "1", next: "2" });
    },

    "a wait needs its own key and the task's token": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write({ ...held, type: "record_step", key: "k", value: "1", error: null });
      await send(store, "1");
      assert.deepEqual(await store.write(wait("k")), { ok: false, reason: "duplicate" });
      assert.deepEqual(await store.write(wait("w", { token: "t0" })), { ok: false, reason: "fenced" });
      // Refused commands take nothing.
      await store.write(wait("w"));
      assert.deepEqual(await valuesOf(store), { k: "1", w: "1" });
      assert.deepEqual(await store.write(wait("w")), { ok: false, reason: "duplicate" });
    },

    "a task accepts events from its creation to its end": async ({ store }) => {
      await store.write(createQueued("a"));
      assertMembers(await send(store, "1"), { isNew: true });
      await store.write({ type: "start", now: noon, id, token: "t1" });
      await store.write(wait("w"));
      assert.deepEqual(await valuesOf(store), { w: "1" });
      await store.write({ type: "cancel", now: noon, id });
      assert.deepEqual(await send(store, "2"), { ok: false, reason: "finished" });
      assert.deepEqual(await send(store, "2", { id: "task-x" }), { ok: false, reason: "unknown" });
      await store.write({ type: "delete", now: noon, id });
      await store.write(createRunning("a"));
      assertMembers(await store.write(wait("w")), { task: { openWaits: 1 } });
    },

    "an event wakes a parked task, but does not end a retry pause": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(wait("w", { rest: { runAfter: latestTime, open: 1 } }));
      await store.write({ ...held, type: "park" });
      assertMembers(await store.get(id), { state: "queued", waiting: true, lane: null });
      const woken = { state: "queued", waiting: false, lane: "woken", runAfter: noon + 2, openWaits: 0 };
      assertMembers(await send(store, "1"), { task: woken });
      await store.write({ type: "start", now: noon, id, token: "t1" });
      await store.write(wait("v"));
      await store.write({ ...held, type: "retry", until: noon + 50, statusMessage: "failed" });
      const pauses = { waiting: false, lane: null, runAfter: noon + 50, openWaits: 0 };
      assertMembers(await send(store, "2"), { ended: "v", task: pauses });
    },

    "an event that the handler has not seen prevents parking": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(wait("w"));
      const rest = { runAfter: latestTime, open: 1 };
      assertMembers(await store.write({ ...held, type: "mark", rest }), { task: { waiting: true } });
      await send(store, "1");
      assertMembers(await store.write({ ...held, type: "mark", rest }), { task: { waiting: false } });
    },

    "texts of events are stored unchanged": async ({ store }) => {
      await store.write(createRunning("a"));
      for (const text of ["", "a\u0000b", "\ud800", "\ufffe", "e\u0301", "é"]) {
        const how = { name: text, dedupeId: text };
        assertMembers(await send(store, text, how), { isNew: true });
        assertMembers(await send(store, text, how), { isNew: false });
        await store.write(wait(text, { name: text }));
        assertMembers(await store.journalEntry(id, text), { request: text, value: text });
      }
    },
  }),

  ...ownerCases("events", {
    "an event from another owner wakes the task, which keeps its own owner": async ({ store, join }) => {
      const { store: other, owner: of } = await join();
      await other.write(createRunning("a"));
      await other.write(wait("w", { rest: { runAfter: latestTime, open: 1 } }));
      await other.write({ ...held, type: "park" });
      const notified = Promise.withResolvers<void>();
      other.subscribe((changes, by) => {
        if (by === "others" && changes !== "gap" && changes.some((change) => change.id === id))
          notified.resolve();
      });
      assertMembers(await send(store, "1"), { ended: "w" });
      await notified.promise;
      assertMembers(await other.get(id), { lane: "woken", owner: of, openWaits: 0 });
    },

    "of two owners that send the same event at once, one succeeds": async ({ store, join }) => {
      const { store: other } = await join();
      await store.write(createRunning("a"));
      await store.write(wait("w"));
      const sent = await Promise.all([store, other].map((each) => send(each, "1", { dedupeId: "one" })));
      assert.equal(sent.filter((each) => each.ok && each.isNew).length, 1);
    },
  }),
];
