import assert from "node:assert/strict";
import { assertMembers } from "./assert-members.ts";
import { assertRejects } from "./assert-rejects.ts";
import { aHandler, createQueued, noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";

const again = { id: "owner-again", handlers: [] };

export const lifecycleCases = storeCases("life", {
  "a store cannot be opened twice, and stays usable": async ({ store }) => {
    await assertRejects(() => store.open(again), "configuration");
    assertMembers(await store.write(createQueued("a")), { ok: true });
  },

  "a store that is not open yet refuses all use": async ({ another }) => {
    const store = another();
    await assertRejects(() => store.write(createQueued("a")), "store_closed");
    await assertRejects(() => store.get("task-a"), "store_closed");
  },

  "after close everything rejects with store_closed": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.close();
    const calls = [
      () => store.write(createQueued("b")),
      () => store.get("task-a"),
      () => store.snapshot("task-a"),
      () => store.request("task-a"),
      () => store.journal("task-a", "", 1),
      () => store.journalEnds("task-a", ["k"]),
      () => store.journalEntry("task-a", "k"),
      () => store.unfinished("", 10),
      () => store.due(noon, 10),
      () => store.nextSweepAt(noon),
      () => store.renew(),
      () => store.hasClaimable([aHandler]),
      () => store.orphanedHandlers(),
      () => store.queued(aHandler, 9),
      () => store.open(again),
    ];
    for (const call of calls) await assertRejects(call, "store_closed");
  },

  "close can be repeated": async ({ store }) => {
    await Promise.all([store.close(), store.close()]);
    await store.close();
  },

  "close while opening waits for the open, then closes": async ({ store, another }) => {
    await store.close();
    const second = another();
    const opening = second.open(again);
    await second.close();
    await opening;
    await assertRejects(() => second.get("task-a"), "store_closed");
  },

  "a write that was made before close is answered": async ({ store }) => {
    const writes = Array.from({ length: 50 }, (_, index) => store.write(createQueued(`w${index}`)));
    await store.close();
    for (const result of await Promise.all(writes)) assert.equal(result.ok, true);
  },
});
