import assert from "node:assert/strict";
import { assertMembers } from "./assert-members.ts";
import { aHandler, createQueued, noHandler, noon } from "./sample-task.ts";
import { ownerCases, storeCases } from "./store-case.ts";

const outcome = { kind: "error", body: "{}" } as const;
const fail = {
  type: "fail",
  now: noon,
  id: "task-a",
  outcome,
  statusMessage: "no tool",
  orphaned: true,
} as const;
const claim = { type: "claim", now: noon, handlers: [aHandler], tokens: ["c1"] } as const;

/** An owner can add and remove handlers while it has the store open. */
export const handlerCases = storeCases("handlers", {
  "what an owner has a handler for no more is orphaned, and what it has one for again is not": async ({
    store,
  }) => {
    await store.write(createQueued("a"));
    assert.deepEqual(await store.orphanedHandlers(), []);
    await store.setHandlers([noHandler]);
    assert.deepEqual(await store.orphanedHandlers(), [aHandler]);
    await store.setHandlers([noHandler, aHandler]);
    assert.deepEqual(await store.orphanedHandlers(), []);
    assert.deepEqual(await store.write(fail), { ok: false, reason: "state" });
    await store.setHandlers([]);
    assertMembers(await store.write(fail), { ok: true });
  },

  "a task of a handler that is gone waits, and is claimed when it is back": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.setHandlers([]);
    assertMembers(await store.get("task-a"), { state: "queued" });
    await store.setHandlers([aHandler]);
    assertMembers(await store.write(claim), { tasks: [{ id: "task-a" }] });
  },
});

export const sharedHandlerCases = ownerCases("handlers of several", {
  "what an owner queued for itself is claimed by another one once it has no handler for it": async ({
    store,
    join,
  }) => {
    const { store: other } = await join();
    await other.write(createQueued("a"));
    assert.equal(await store.hasClaimable([aHandler]), false);
    assertMembers(await store.write(claim), { tasks: [] });
    await other.setHandlers([noHandler]);
    assert.equal(await store.hasClaimable([aHandler]), true);
    assert.deepEqual(await store.orphanedHandlers(), []);
    assertMembers(await store.write(claim), { tasks: [{ id: "task-a" }] });
  },

  "what only a new handler of another one runs is no orphan": async ({ store, join }) => {
    const { store: other } = await join();
    await store.write({ ...createQueued("a", { tool: noHandler.tool }), forAnyOwner: true });
    assert.deepEqual(await store.orphanedHandlers(), [noHandler]);
    await other.setHandlers([aHandler, noHandler]);
    assert.deepEqual(await store.orphanedHandlers(), []);
    assert.deepEqual(await store.write(fail), { ok: false, reason: "state" });
  },

  "others are told of a gap": async ({ store, join }) => {
    const { store: other } = await join();
    const { store: third } = await join();
    await third.renew(); // from now on it knows all owners that have joined
    let told: () => void = () => undefined;
    const gap = new Promise<void>((resolve) => (told = resolve));
    const arrived = new Promise<void>((resolve) => {
      const end = third.subscribe((changes) => {
        if (changes === "gap" || !changes.some(({ id }) => id === "task-b")) return;
        end();
        resolve();
      });
    });
    await other.write(createQueued("b"));
    await arrived; // and of the earlier owners
    const end = third.subscribe((changes, by) => {
      if (changes === "gap" && by === "others") told();
    });
    await store.setHandlers([noHandler]);
    await gap;
    end();
  },
});
