import assert from "node:assert/strict";
import type { StoreChanges, TaskStore } from "../store/store.ts";
import { assertMembers, ownerCases, storeCases, assertRejects } from "./store-case.ts";
import { reclaimGone, aHandler, createQueued, createRunning, noHandler, noon } from "./sample-task.ts";

const handlers = [aHandler];

/** Resolves with the first changes of others that `isMeant` accepts. */
function changesOfOthers(
  store: TaskStore,
  isMeant: (changes: StoreChanges) => boolean,
): Promise<StoreChanges> {
  return new Promise((resolve) => {
    const stop = store.subscribe((changes, by) => {
      if (by === "self" || !isMeant(changes)) return;
      stop();
      resolve(changes);
    });
  });
}

export const ownershipCases = ownerCases("owners", {
  "each owner sees what another has committed": async ({ store, join }) => {
    const { store: other } = await join();
    await other.write(createRunning("a"));
    assert.deepEqual(await store.get("task-a"), await other.get("task-a"));
    await store.write({ type: "request_cancel", now: noon, id: "task-a" });
    assertMembers(await other.get("task-a"), { cancelRequestedAt: noon });
  },

  "changes by one owner are announced to the others": async ({ store, join }) => {
    const { store: other } = await join();
    const notified = changesOfOthers(store, (changes) => changes !== "gap");
    await other.write(createRunning("a"));
    assert.deepEqual(await notified, [{ id: "task-a", version: 1 }]);
  },

  "an owner that joins or leaves causes a gap": async ({ store, join }) => {
    const come = changesOfOthers(store, (changes) => changes === "gap");
    const { store: other } = await join();
    await come;
    const gone = changesOfOthers(store, (changes) => changes === "gap");
    await other.close();
    // A renewal finds out who is gone; reclaiming their tasks removes them.
    await reclaimGone(store);
    await store.renew();
    await gone;
  },

  "all are notified when they can claim tasks queued for a dead owner": async ({ store, join, kill }) => {
    const { store: lost, owner } = await join();
    const { store: other } = await join();
    await lost.write(createQueued("a"));
    await kill(owner);
    const { promise: notified, resolve, reject } = Promise.withResolvers<void>();
    const unsubscribe = store.subscribe(() => {
      store.hasClaimable(handlers).then((has) => {
        if (has) resolve();
      }, reject);
    });
    await reclaimGone(other);
    await notified;
    unsubscribe();
  },

  "an owner that missed changes is notified of a gap, and of later changes": async ({ store, join }) => {
    const { store: other } = await join();
    const last = changesOfOthers(
      store,
      (changes) => changes !== "gap" && changes.some(({ id }) => id === "task-z"),
    );
    const writes = Array.from({ length: 300 }, (_, index) => other.write(createQueued(`m${index}`)));
    await Promise.all(writes);
    await other.write(createQueued("z"));
    await last;
  },

  "a race of claims has one winner for each task": async ({ store, join }) => {
    const { store: other } = await join();
    const names = Array.from({ length: 40 }, (_, index) => `r${index}`);
    await Promise.all(names.map((name) => store.write({ ...createQueued(name), forAnyOwner: true })));
    const claims = await Promise.all(
      [store, other].flatMap((each, of) =>
        Array.from({ length: 10 }, (_, index) => {
          const tokens = [0, 1, 2].map((place) => `${of}-${index}-${place}`);
          return each.write({ type: "claim", now: noon, handlers, tokens });
        }),
      ),
    );
    const claimed = claims.flatMap(({ tasks }) => tasks);
    assert.equal(claimed.length, names.length);
    assert.equal(new Set(claimed.map(({ id }) => id)).size, names.length);
    for (const task of claimed) assert.deepEqual(await store.get(task.id), task);
  },

  "a task stays with its owner while that lives, and can then run anywhere": async ({
    store,
    join,
    kill,
  }) => {
    const { store: other, owner } = await join();
    await other.write(createQueued("a"));
    await other.write({ ...createQueued("b"), forAnyOwner: true });
    assertMembers(await store.get("task-b"), { owner: null });
    const claim = { type: "claim", now: noon, handlers, tokens: ["c1", "c2"] } as const;
    assertMembers(await store.write(claim), { tasks: [{ id: "task-b" }] });
    assert.equal(await store.hasClaimable(handlers), false);
    await kill(owner);
    await reclaimGone(store);
    assert.equal(await store.hasClaimable(handlers), true);
    assertMembers(await store.write({ ...claim, tokens: ["c3"] }), { tasks: [{ id: "task-a" }] });
  },

  "a renewal returns dead owners and the number of live ones": async ({ store, join, kill }) => {
    assertMembers(await store.renew(), { held: true, gone: [], others: 0 });
    const { store: second, owner } = await join();
    const { store: third } = await join();
    assertMembers(await store.renew(), { held: true, gone: [], others: 2 });
    await third.close();
    assertMembers(await store.renew(), { held: true, others: 1 });
    await kill(owner);
    const { gone } = await store.renew();
    assert.equal(gone.includes(owner), true);
    await reclaimGone(store);
    assert.equal((await store.renew()).gone.includes(owner), false);
    assertMembers(await second.renew(), { held: false });
  },

  "a tool that only another owner has is not orphaned while that owner lives": async ({
    store,
    another,
    kill,
  }) => {
    const newer = another();
    await newer.open({ id: "newer", handlers: [aHandler, noHandler] });
    await newer.write({ ...createQueued("a", { tool: noHandler.tool }), forAnyOwner: true });
    assert.deepEqual(await store.orphanedHandlers(), []);
    assert.equal(await store.hasClaimable(handlers), false);
    const outcome = { kind: "error", body: "{}" } as const;
    const fail = {
      type: "fail",
      now: noon,
      id: "task-a",
      outcome,
      statusMessage: "no tool",
      orphaned: true,
    } as const;
    assert.deepEqual(await store.write(fail), { ok: false, reason: "state" });
    await kill("newer");
    await reclaimGone(store);
    assert.deepEqual(await store.orphanedHandlers(), [noHandler]);
    assertMembers(await store.write(fail), { ok: true });
  },

  "a handler's queued tasks are listed in the order of their ids, whatever their owners": async ({
    store,
    join,
  }) => {
    const { store: other } = await join();
    const queue = (by: TaskStore, name: string, after: number) =>
      by.write({ ...createQueued(name), now: noon + after });
    for (const [name, after] of [["d", 4] as const, ["e", 5] as const]) await queue(store, name, after);
    for (const [name, after] of [["a", 1] as const, ["b", 2] as const, ["c", 3] as const]) {
      await queue(other, name, after);
    }
    assert.deepEqual(await store.queued(aHandler, { after: "", limit: 3, blocked: false }), [
      "task-a",
      "task-b",
      "task-c",
    ]);
    assert.deepEqual(
      await store.queued(aHandler, { after: "", limit: 9, blocked: false }),
      ["a", "b", "c", "d", "e"].map((name) => `task-${name}`),
    );
  },

  "quotas and idempotency keys are shared by all owners": async ({ store, join }) => {
    const { store: other } = await join();
    const quota = {
      perPrincipal: { unfinished: 1, retained: null },
      total: { unfinished: null, retained: null },
    };
    assertMembers(await store.write({ ...createQueued("a", { idempotencyKey: "k" }), quota }), {
      created: true,
    });
    assertMembers(await other.write({ ...createQueued("b", { idempotencyKey: "k" }), quota }), {
      created: false,
      task: { id: "task-a" },
    });
    assert.deepEqual(await other.write({ ...createQueued("c"), quota }), { ok: false, reason: "quota" });
  },
});

const noHandlerOutcome = { kind: "error", body: "{}" } as const;

const failWithoutHandler = {
  type: "fail",
  now: noon,
  id: "task-a",
  outcome: noHandlerOutcome,
  statusMessage: "no tool",
  orphaned: true,
} as const;

const claimOne = { type: "claim", now: noon, handlers: [aHandler], tokens: ["c1"] } as const;

/** An owner can add and remove handlers while it has the store open. */
export const handlerCases = storeCases("handlers", {
  "tasks are orphaned when their handler is removed, and no longer once it is back": async ({ store }) => {
    await store.write(createQueued("a"));
    assert.deepEqual(await store.orphanedHandlers(), []);
    await store.setHandlers([noHandler]);
    assert.deepEqual(await store.orphanedHandlers(), [aHandler]);
    await store.setHandlers([noHandler, aHandler]);
    assert.deepEqual(await store.orphanedHandlers(), []);
    assert.deepEqual(await store.write(failWithoutHandler), { ok: false, reason: "state" });
    await store.setHandlers([]);
    assertMembers(await store.write(failWithoutHandler), { ok: true });
  },

  "a task whose handler was removed waits, and is claimed once it is back": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.setHandlers([]);
    assertMembers(await store.get("task-a"), { state: "queued" });
    await store.setHandlers([aHandler]);
    assertMembers(await store.write(claimOne), { tasks: [{ id: "task-a" }] });
  },
});

export const sharedHandlerCases = ownerCases("handlers of several", {
  "a task queued by an owner that removed its handler is claimed by another owner": async ({
    store,
    join,
  }) => {
    const { store: other } = await join();
    await other.write(createQueued("a"));
    assert.equal(await store.hasClaimable([aHandler]), false);
    assertMembers(await store.write(claimOne), { tasks: [] });
    await other.setHandlers([noHandler]);
    assert.equal(await store.hasClaimable([aHandler]), true);
    assert.deepEqual(await store.orphanedHandlers(), []);
    assertMembers(await store.write(claimOne), { tasks: [{ id: "task-a" }] });
  },

  "a task that only another owner's new handler runs is not orphaned": async ({ store, join }) => {
    const { store: other } = await join();
    await store.write({ ...createQueued("a", { tool: noHandler.tool }), forAnyOwner: true });
    assert.deepEqual(await store.orphanedHandlers(), [noHandler]);
    await other.setHandlers([aHandler, noHandler]);
    assert.deepEqual(await store.orphanedHandlers(), []);
    assert.deepEqual(await store.write(failWithoutHandler), { ok: false, reason: "state" });
  },

  "a change of handlers is announced as a gap": async ({ store, join }) => {
    const { store: other } = await join();
    const { store: third } = await join();
    await third.renew(); // from now on it knows all owners that have joined
    let notified: () => void = () => undefined;
    const gap = new Promise<void>((resolve) => (notified = resolve));
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
      if (changes === "gap" && by === "others") notified();
    });
    await store.setHandlers([noHandler]);
    await gap;
    end();
  },
});

const again = { id: "owner-again", handlers: [] };

export const lifecycleCases = storeCases("life", {
  "opening a store twice fails, and the store stays usable": async ({ store }) => {
    await assertRejects(() => store.open(again), "configuration");
    assertMembers(await store.write(createQueued("a")), { ok: true });
  },

  "a store that is not open yet refuses everything": async ({ another }) => {
    const store = another();
    await assertRejects(() => store.write(createQueued("a")), "store_closed");
    await assertRejects(() => store.get("task-a"), "store_closed");
  },

  "after close, every call rejects with store_closed": async ({ store }) => {
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
      () => store.queued(aHandler, { after: "", limit: 9, blocked: false }),
      () => store.open(again),
    ];
    for (const call of calls) await assertRejects(call, "store_closed");
  },

  "close can be repeated": async ({ store }) => {
    await Promise.all([store.close(), store.close()]);
    await store.close();
  },

  "close waits for a running open, then closes": async ({ store, another }) => {
    await store.close();
    const second = another();
    const opening = second.open(again);
    await second.close();
    await opening;
    await assertRejects(() => second.get("task-a"), "store_closed");
  },

  "a write made before close is acknowledged": async ({ store }) => {
    const writes = Array.from({ length: 50 }, (_, index) => store.write(createQueued(`w${index}`)));
    await store.close();
    for (const result of await Promise.all(writes)) assert.equal(result.ok, true);
  },
});
