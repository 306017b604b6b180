import assert from "node:assert/strict";
import type { MessageQueues, NewMessage } from "../store/message-queues.ts";
import { reclaimGone } from "./reclaim-gone.ts";
import { createRunning, noon } from "./sample-task.ts";
import { ownerCases, storeCases, type StoreUnderTest } from "./store-case.ts";
import { changesOf } from "./told-changes.ts";

const id = "task-a";
const ok = { ok: true } as const;

function message(body: string): NewMessage {
  return { body, bound: false };
}

/** A case for the optional part, with a task whose queue is empty; a store without it passes. */
function withQueues(
  check: (queues: MessageQueues, under: StoreUnderTest) => Promise<void>,
): (under: StoreUnderTest) => Promise<void> {
  return async (under) => {
    const { messages } = under.store;
    if (messages === undefined) return;
    await under.store.write(createRunning("a"));
    await check(messages, under);
  };
}

const casesOfOne = storeCases("messages", {
  "come out once, in the order in which they went in, to the letter": withQueues(async (queues) => {
    const bodies = ["1", '{ "a":1.0 }', '"\ud800"', "\ufffe", "1"];
    for (const body of bodies) assert.deepEqual(await queues.put(id, message(body), null), ok);
    assert.deepEqual(await queues.take(id, 2), bodies.slice(0, 2));
    assert.deepEqual(await queues.take(id, 0), []);
    assert.deepEqual(await queues.put(id, message("6"), null), ok);
    assert.deepEqual(await queues.take(id, null), [...bodies.slice(2), "6"]);
    assert.deepEqual(await queues.take(id, null), []);
  }),

  "of many takers at once each message has one": withQueues(async (queues) => {
    const bodies = Array.from({ length: 30 }, (_, index) => String(index));
    await Promise.all(bodies.map((body) => queues.put(id, message(body), null)));
    const takes = await Promise.all(bodies.map(() => queues.take(id, 1)));
    assert.deepEqual(takes.flat(), bodies);
  }),

  "belong to their task": withQueues(async (queues, { store }) => {
    await store.write(createRunning("b"));
    await queues.put(id, message("a1"), null);
    await queues.put("task-b", message("b1"), null);
    assert.deepEqual(await queues.take("task-b", null), ["b1"]);
    assert.deepEqual(await queues.take(id, null), ["a1"]);
    assert.deepEqual(await queues.put("task-x", message("x"), null), { ok: false, reason: "unknown" });
    assert.deepEqual(await queues.take("task-x", null), []);
  }),

  "fill a queue up to its size, and no further": withQueues(async (queues) => {
    const puts = ["1", "2", "3"].map((body) => queues.put(id, message(body), 2));
    assert.deepEqual(await Promise.all(puts), [ok, ok, { ok: false, reason: "full" }]);
    await queues.take(id, 1);
    assert.deepEqual(await queues.put(id, message("4"), 2), ok);
    assert.deepEqual(await queues.put(id, message("5"), null), ok);
    assert.deepEqual(await queues.take(id, null), ["2", "4", "5"]);
  }),

  "are no change of the task, and outlive its end": withQueues(async (queues, { store }) => {
    const before = await store.snapshot(id);
    const changes = changesOf(store);
    await queues.put(id, message("1"), null);
    assert.deepEqual(await store.snapshot(id), before);
    assert.deepEqual(changes, []);
    await store.write({ type: "cancel", now: noon, id });
    await queues.put(id, message("2"), null);
    assert.deepEqual(await queues.take(id, null), ["1", "2"]);
  }),

  "go with their task, whether its time is over or it is deleted before": withQueues(
    async (queues, { store }) => {
      await store.write(createRunning("b", { expiry: { from: "created", ms: 10 } }));
      for (const of of [id, "task-b"]) {
        await queues.put(of, message("1"), null);
        await store.write({ type: "cancel", now: noon, id: of });
      }
      await store.write({ type: "delete", now: noon, id });
      await store.write({ type: "delete_expired", now: noon + 10, limit: 1 });
      for (const name of ["a", "b"]) {
        assert.deepEqual(await queues.take(`task-${name}`, null), []);
        await store.write(createRunning(name));
        assert.deepEqual(await queues.take(`task-${name}`, null), []);
      }
    },
  ),

  "that are bound to a process stand in line with the others there": withQueues(async (queues) => {
    for (const [index, bound] of [true, false, true].entries()) {
      await queues.put(id, { body: String(index), bound }, 3);
    }
    assert.deepEqual(await queues.put(id, message("3"), 3), { ok: false, reason: "full" });
    assert.deepEqual(await queues.take(id, null), ["0", "1", "2"]);
  }),

  "are refused by a store that was closed": withQueues(async (queues, { store }) => {
    await store.close();
    await assert.rejects(queues.put(id, message("1"), null), { code: "store_closed" });
    await assert.rejects(queues.take(id, null), { code: "store_closed" });
  }),
});

const casesOfSeveral = ownerCases("messages", {
  "that are bound to one owner are taken by no other, and go with it": async ({ store, join, kill }) => {
    const { store: other, owner } = await join();
    const { messages } = store;
    if (messages === undefined || other.messages === undefined) return;
    await store.write(createRunning("a"));
    for (const [index, bound] of [true, false, true].entries()) {
      await other.messages.put(id, { body: String(index), bound }, null);
    }
    await messages.put(id, { body: "3", bound: true }, null);
    assert.deepEqual(await other.messages.take(id, 1), ["0"]);
    assert.deepEqual(await messages.take(id, null), ["1", "3"]);
    await kill(owner);
    await reclaimGone(store);
    assert.deepEqual(await messages.put(id, message("4"), 1), ok);
    assert.deepEqual(await messages.take(id, null), ["4"]);
  },
});

export const messageCases = [...casesOfOne, ...casesOfSeveral];
