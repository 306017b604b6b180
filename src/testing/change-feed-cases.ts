import assert from "node:assert/strict";
import { assertMembers } from "./assert-members.ts";
import { createQueued, createRunning, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";
import { changesOf } from "./told-changes.ts";

const id = "task-a";

/** Counts the warnings of the process while `act` runs, and keeps them off the terminal. */
async function warningsIn(act: () => Promise<void>): Promise<number> {
  let count = 0;
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => void count++;
  try {
    await act();
  } finally {
    process.emitWarning = emitWarning;
  }
  return count;
}

export const changeFeedCases = storeCases("changes", {
  "each committed change is told once, in order, with its version": async ({ store }) => {
    const seen = changesOf(store);
    await store.write(createQueued("a", { expiry: { from: "created", ms: 10 } }));
    await store.write({ type: "start", now: noon, id, token: "t1" });
    await store.write({ type: "release", now: noon, id, token: "t1" });
    await store.write({ type: "request_cancel", now: noon, id });
    await store.write({ type: "cancel", now: noon, id });
    await store.write({ type: "delete_expired", now: noon + 10, limit: 10 });
    assert.deepEqual(
      seen,
      [1, 2, 3, 4, 5, null].map((version) => ({ id, version })),
    );
  },

  "what changed nothing is not told": async ({ store }) => {
    await store.write(createRunning("a", { idempotencyKey: "i" }));
    const seen = changesOf(store);
    await store.write(createRunning("b", { idempotencyKey: "i" }));
    await store.write(createRunning("a"));
    await store.write({ type: "start", now: noon, id, token: "t2" });
    await store.write({ type: "cancel", now: noon, id: "task-x" });
    await store.write({ type: "answer_inputs", now: noon, id, answers: [{ key: "x", value: "1" }] });
    await store.write({ type: "delete_expired", now: noon, limit: 10 });
    assert.deepEqual(seen, []);
  },

  "nothing is told inside the call, and all is told when the write resolves": async ({ store }) => {
    const seen = changesOf(store);
    const write = store.write(createQueued("a"));
    assert.deepEqual(seen, []);
    await write;
    assert.deepEqual(seen, [{ id, version: 1 }]);
  },

  "a listener can read the change that it is told": async ({ store }) => {
    const reads: Promise<unknown>[] = [];
    store.subscribe((changes) => {
      if (changes !== "gap") reads.push(...changes.map((change) => store.get(change.id)));
    });
    await store.write(createQueued("a"));
    assertMembers(await Promise.all(reads), [{ id, version: 1 }]);
  },

  "a listener that throws harms neither the write nor its neighbours, and is warned of": async ({
    store,
  }) => {
    const warnings = await warningsIn(async () => {
      store.subscribe(() => {
        throw new Error("listener");
      });
      const seen = changesOf(store);
      assertMembers(await store.write(createQueued("a")), { ok: true });
      assert.equal(seen.length, 1);
    });
    assert.equal(warnings, 1, "the listener's error has to be a warning of the process, once");
  },

  "a subscription ends by itself, and leaves the other one of the same listener": async ({ store }) => {
    let calls = 0;
    const listener = (): void => void calls++;
    const stop = store.subscribe(listener);
    store.subscribe(listener);
    await store.write(createQueued("a"));
    assert.equal(calls, 2);
    stop();
    stop();
    await store.write(createQueued("b"));
    assert.equal(calls, 3);
  },

  "who subscribes or stops while changes are told is heard from the next commit on": async ({ store }) => {
    const seen: string[] = [];
    const stops: (() => void)[] = [];
    store.subscribe(() => {
      for (const stop of stops) stop();
      store.subscribe(() => void seen.push("new"));
    });
    stops.push(store.subscribe(() => void seen.push("stopped")));
    await store.write(createQueued("a"));
    assert.deepEqual(seen, []);
    await store.write(createQueued("b"));
    assert.deepEqual(seen, ["new"]);
  },
});
