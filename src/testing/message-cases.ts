import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { TaskCommand } from "../task/command.ts";
import { createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";

const id = "task-a";
const ok = { ok: true } as const;

function message(
  body: string,
  members: Partial<TaskCommand<"put_message">> = {},
): TaskCommand<"put_message"> {
  return { type: "put_message", now: noon, id, body, bound: false, maxMessages: null, ...members };
}

async function taken(store: TaskStore, limit: number | null, from = id): Promise<readonly string[]> {
  return (await store.write({ type: "take_messages", now: noon, id: from, limit })).messages;
}

export const messageCases = storeCases("messages", {
  "come out once, in the order in which they went in, to the letter": async ({ store }) => {
    await store.write(createRunning("a"));
    const bodies = ["1", '{ "a":1.0 }', '"\ud800"', "\ufffe", "1"];
    for (const body of bodies) assert.deepEqual(await store.write(message(body)), ok);
    assert.deepEqual(await taken(store, 2), bodies.slice(0, 2));
    assert.deepEqual(await taken(store, 0), []);
    assert.deepEqual(await store.write(message("6")), ok);
    assert.deepEqual(await taken(store, null), [...bodies.slice(2), "6"]);
    assert.deepEqual(await taken(store, null), []);
  },

  "of many takers at once each message has one": async ({ store }) => {
    await store.write(createRunning("a"));
    const bodies = Array.from({ length: 30 }, (_, index) => String(index));
    await Promise.all(bodies.map((body) => store.write(message(body))));
    const takes = await Promise.all(bodies.map(() => taken(store, 1)));
    assert.deepEqual(takes.flat(), bodies);
  },

  "belong to their task": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(createRunning("b"));
    await store.write(message("a1"));
    await store.write(message("b1", { id: "task-b" }));
    assert.deepEqual(await taken(store, null, "task-b"), ["b1"]);
    assert.deepEqual(await taken(store, null), ["a1"]);
    assert.deepEqual(await store.write(message("x", { id: "task-x" })), { ok: false, reason: "unknown" });
    assert.deepEqual(await taken(store, null, "task-x"), []);
  },

  "fill a queue up to its size, and no further": async ({ store }) => {
    await store.write(createRunning("a"));
    const puts = ["1", "2", "3"].map((body) => store.write(message(body, { maxMessages: 2 })));
    assert.deepEqual(await Promise.all(puts), [ok, ok, { ok: false, reason: "full" }]);
    await taken(store, 1);
    assert.deepEqual(await store.write(message("4", { maxMessages: 2 })), ok);
    assert.deepEqual(await store.write(message("5")), ok);
    assert.deepEqual(await taken(store, null), ["2", "4", "5"]);
  },

  "are no change of the task, and outlive its end": async ({ store }) => {
    await store.write(createRunning("a"));
    const before = await store.snapshot(id);
    const changes: unknown[] = [];
    store.subscribe((told) => changes.push(...told));
    await store.write(message("1"));
    assert.deepEqual(await store.snapshot(id), before);
    assert.deepEqual(changes, []);
    await store.write({ type: "cancel", now: noon, id });
    await store.write(message("2"));
    assert.deepEqual(await taken(store, null), ["1", "2"]);
  },

  "go with their task": async ({ store }) => {
    await store.write(createRunning("a", { expiry: { from: "created", ms: 10 } }));
    await store.write(message("1"));
    await store.write({ type: "cancel", now: noon, id });
    await store.write({ type: "delete_expired", now: noon + 10, limit: 1 });
    assert.deepEqual(await taken(store, null), []);
    await store.write(createRunning("a"));
    assert.deepEqual(await taken(store, null), []);
  },

  "that are bound to a process can be dropped, of all tasks, and no others": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(createRunning("b"));
    for (const [index, bound] of [true, false, true, false].entries()) {
      await store.write(message(`a${index}`, { bound }));
    }
    await store.write(message("b0", { id: "task-b", bound: true }));
    assert.deepEqual(await store.write({ type: "drop_bound_messages", now: noon }), ok);
    assert.deepEqual(await taken(store, null), ["a1", "a3"]);
    assert.deepEqual(await taken(store, null, "task-b"), []);
  },
});
