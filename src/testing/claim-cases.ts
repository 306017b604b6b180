import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { CommandResult } from "../task/command.ts";
import { assertMembers, storeCases, ownerCases } from "./store-case.ts";
import { aHandler, createQueued, createRunning, noHandler, noon, owner, reclaimGone } from "./sample-task.ts";
import type { ClaimingHandler, Turns } from "../task/queue.ts";

const oneHandler = [aHandler];

function claim(store: TaskStore, count: number, now = noon): Promise<CommandResult<"claim">> {
  const tokens = Array.from({ length: count }, (_, index) => `c${index + 1}`);
  return store.write({ type: "claim", now, handlers: oneHandler, tokens });
}

async function idsOf(claiming: Promise<CommandResult<"claim">>): Promise<readonly string[]> {
  return (await claiming).tasks.map(({ id }) => id);
}

export const claimCases = storeCases("claim", {
  "a queued task belongs to its owner, and a claim starts it with a token": async ({ store }) => {
    await store.write(createQueued("a"));
    assertMembers(await store.get("task-a"), {
      state: "queued",
      owner,
      lane: "new",
      runAfter: noon,
      token: null,
    });
    const { tasks, unreadable } = await claim(store, 1);
    assertMembers(tasks, [
      { id: "task-a", state: "running", owner, lane: null, runAfter: null, token: "c1", attempt: 1 },
    ]);
    assert.deepEqual(unreadable, []);
    assert.deepEqual(tasks[0], await store.get("task-a"));
    assert.deepEqual(await idsOf(claim(store, 1)), []);
  },

  "a claim takes the tasks that have waited longest, one for each token": async ({ store }) => {
    for (const [name, at] of Object.entries({ b: 2, a: 1, d: 3, c: 3 })) {
      await store.write({ ...createQueued(name), now: noon + at });
    }
    await store.write(createRunning("e"));
    const { tasks } = await claim(store, 3, noon + 9);
    assertMembers(tasks, [
      { id: "task-a", token: "c1" },
      { id: "task-b", token: "c2" },
      { id: "task-c", token: "c3" },
    ]);
    assert.deepEqual(await idsOf(claim(store, 3, noon + 9)), ["task-d"]);
  },

  "a queued task can be claimed by an owner whose clock is behind": async ({ store }) => {
    assert.equal(await store.hasClaimable(oneHandler), false);
    await store.write({ ...createQueued("a"), now: noon + 5 });
    assert.equal(await store.hasClaimable(oneHandler), true);
    assertMembers(await claim(store, 9, noon), { tasks: [{ id: "task-a" }] });
    assert.equal(await store.hasClaimable(oneHandler), false);
  },

  "a claim leaves tasks that have no handler here": async ({ store }) => {
    await store.write(createQueued("a", { tool: noHandler.tool }));
    await store.write(createQueued("b", { method: "resources/read" }));
    assert.equal(await store.hasClaimable(oneHandler), false);
    assert.deepEqual(await idsOf(claim(store, 9)), []);
    const both = [aHandler, noHandler];
    assert.equal(await store.hasClaimable(both), true);
    const claimed = await store.write({ type: "claim", now: noon, handlers: both, tokens: ["c1", "c2"] });
    assertMembers(claimed.tasks, [{ id: "task-a" }]);
  },

  "a task that ended while it was queued is not claimed": async ({ store }) => {
    await store.write(createQueued("a"));
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    assertMembers(await store.get("task-a"), { state: "cancelled", owner: null, runAfter: null });
    assert.deepEqual(await idsOf(claim(store, 9)), []);
  },

  "a released task is claimed again with another token": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "release", now: noon + 1, id: "task-a", token: "t1" });
    assertMembers(await store.get("task-a"), {
      state: "queued",
      owner: null,
      lane: "recovered",
      runAfter: noon + 1,
      token: null,
    });
    assertMembers(await claim(store, 1, noon + 1), { tasks: [{ id: "task-a", token: "c1", attempt: 2 }] });
  },

  "queued tasks without a handler anywhere are reported by their tools": async ({ store }) => {
    await store.write(createQueued("a", { tool: noHandler.tool }));
    await store.write({ ...createQueued("c", { tool: noHandler.tool }), now: noon - 1 });
    await store.write({ ...createQueued("d", { tool: noHandler.tool }), now: noon + 1, forAnyOwner: true });
    await store.write(createQueued("b"));
    assert.deepEqual(await store.orphanedHandlers(), [noHandler]);
    const queued = (after: string, limit: number) =>
      store.queued(noHandler, { after, limit, blocked: false });
    assert.deepEqual(await queued("", 9), ["task-a", "task-c", "task-d"]);
    assert.deepEqual(await queued("task-a", 1), ["task-c"]);
    const outcome = { kind: "error", body: "{}" } as const;
    const fail = { type: "fail", now: noon, outcome, statusMessage: "no tool", orphaned: true } as const;
    assert.deepEqual(await store.write({ ...fail, id: "task-b" }), { ok: false, reason: "state" });
    assertMembers(await store.write({ ...fail, id: "task-a" }), { ok: true, task: { state: "settled" } });
    assert.deepEqual(await queued("", 9), ["task-c", "task-d"]);
  },
});

const another: ClaimingHandler = { ...aHandler, tool: "index" };

const limited: ClaimingHandler = { ...aHandler, concurrency: 2 };

/** Claims `count` tasks, at once or one after another, and resolves with their names. */
async function claimedTasks(
  store: TaskStore,
  count: number,
  { handlers = [aHandler], atOnce = count }: { handlers?: readonly ClaimingHandler[]; atOnce?: number } = {},
): Promise<readonly string[]> {
  const names: string[] = [];
  let turns: Turns | undefined;
  while (names.length < count) {
    const tokens = Array.from({ length: atOnce }, (_, index) => `c${names.length + index}`);
    const command = { type: "claim", now: noon + 99, handlers, tokens } as const;
    const result = await store.write<"claim">(turns === undefined ? command : { ...command, turns });
    if (result.tasks.length === 0) break;
    names.push(...result.tasks.map(({ id }) => id.slice("task-".length)));
    turns = result.turns;
  }
  return names;
}

function claimWith(store: TaskStore, handler: ClaimingHandler, count = 9): Promise<CommandResult<"claim">> {
  const tokens = Array.from({ length: count }, (_, index) => `c${index}`);
  return store.write({ type: "claim", now: noon, handlers: [handler], tokens });
}

/** Many tasks of one principal, and later one each of three others. */
async function flood(store: TaskStore): Promise<void> {
  for (const name of ["1", "2", "3", "4", "5"]) await store.write(createQueued(name, { principal: "bob" }));
  const later = { now: noon + 1 } as const;
  await store.write({ ...createQueued("x", { principal: "cy" }), ...later });
  await store.write({ ...createQueued("y", { principal: null }), ...later });
  await store.write({ ...createQueued("z", { principal: "ann", tool: another.tool }), ...later });
}

export const turnCases = [
  ...storeCases("turns", {
    "principals take turns in the order of their names, however many tasks one has": async ({ store }) => {
      await flood(store);
      assert.deepEqual(await claimedTasks(store, 8, { handlers: [aHandler, another] }), [
        "y",
        "z",
        "1",
        "x",
        "2",
        "3",
        "4",
        "5",
      ]);
    },

    "continue with the next claim": async ({ store }) => {
      await flood(store);
      const handlers = [aHandler, another];
      const order = await claimedTasks(store, 8, { handlers, atOnce: 1 });
      assert.deepEqual(order, ["y", "z", "1", "x", "2", "3", "4", "5"]);
    },

    "names are ordered by code points": async ({ store }) => {
      for (const [index, principal] of ["😀", "￿", "b", "ä", "a", "B"].entries()) {
        await store.write(createQueued(`${index}`, { principal }));
      }
      assert.deepEqual(await claimedTasks(store, 6, { atOnce: 1 }), ["5", "4", "2", "3", "1", "0"]);
    },

    "an empty name and no name are the same principal": async ({ store }) => {
      await store.write(createQueued("1", { principal: null }));
      await store.write(createQueued("2", { principal: "" }));
      await store.write(createQueued("3", { principal: "ann" }));
      assert.deepEqual(await claimedTasks(store, 3, { atOnce: 1 }), ["1", "3", "2"]);
    },

    "released tasks do not all come before new ones": async ({ store }) => {
      for (const name of ["1", "2", "3"]) {
        await store.write(createRunning(name));
        await store.write({ type: "release", now: noon, id: `task-${name}`, token: "t1" });
      }
      for (const name of ["4", "5"]) await store.write({ ...createQueued(name), now: noon + 1 });
      assert.deepEqual(await claimedTasks(store, 5, { atOnce: 1 }), ["4", "5", "1", "2", "3"]);
    },

    "a handler with a higher priority comes first": async ({ store }) => {
      for (const name of ["1", "2", "3"]) await store.write(createQueued(name));
      for (const name of ["4", "5"]) {
        await store.write({ ...createQueued(name, { tool: another.tool }), now: noon + 1 });
      }
      const handlers = [
        { ...aHandler, priority: -1 },
        { ...another, priority: 0 },
      ];
      assert.deepEqual(await claimedTasks(store, 4, { handlers, atOnce: 2 }), ["4", "5", "1", "2"]);
    },
  }),

  ...storeCases("limit", {
    "a handler's running tasks stay within its limit": async ({ store }) => {
      for (const name of ["1", "2", "3", "4"]) await store.write(createQueued(name));
      const first = await claimWith(store, limited);
      assert.deepEqual([first.tasks.length, first.heldBack], [2, true]);
      assert.deepEqual(
        first.tasks.map((task) => task.limited),
        [true, true],
      );
      assert.equal(await store.hasClaimable([limited]), false);
      assert.equal(await store.hasClaimable([aHandler]), true);
      assertMembers(await claimWith(store, limited, 0), { tasks: [], heldBack: true });
      assert.deepEqual((await claimWith(store, limited)).tasks, []);
      assert.equal((await claimWith(store, { ...limited, concurrency: 3 })).tasks.length, 1);
    },

    "a task makes room when it ends, is released or is parked": async ({ store }) => {
      for (const name of ["1", "2", "3", "4", "5", "6"]) await store.write(createQueued(name));
      const outcome = { kind: "result", body: "{}" } as const;
      const rest = { runAfter: noon + 5, open: 0 };
      const ends = [
        (id: string, token: string) => store.write({ type: "settle", now: noon, id, token, outcome }),
        (id: string) => store.write({ type: "cancel", now: noon, id }),
        (id: string, token: string) => store.write({ type: "release", now: noon, id, token }),
        async (id: string, token: string) => {
          await store.write({ type: "sleep", now: noon, id, token, key: "s", until: noon + 5, rest });
          return store.write({ type: "park", now: noon, id, token });
        },
      ];
      const one = { ...limited, concurrency: 1 };
      for (const end of ends) {
        const [task] = (await claimWith(store, one)).tasks;
        if (task === undefined) assert.fail("nothing was claimed");
        assert.equal(await store.hasClaimable([one]), false);
        await end(task.id, task.token ?? "");
        assert.equal((await store.get(task.id))?.limited, false);
        assert.equal(await store.hasClaimable([one]), true);
      }
    },

    "running tasks of a handler without a limit do not count": async ({ store }) => {
      await store.write(createRunning("1"));
      await store.write(createQueued("2"));
      await store.write(createQueued("3"));
      assert.equal((await claimWith(store, aHandler, 1)).tasks.length, 1);
      const { tasks, heldBack } = await claimWith(store, { ...limited, concurrency: 1 });
      assert.deepEqual([tasks.length, heldBack], [1, true]);
    },

    "principals take turns for free room, whatever else is claimed meanwhile": async ({ store }) => {
      const one = { ...another, concurrency: 1 };
      for (const name of ["1", "2", "3"]) {
        await store.write(createQueued(`a${name}`, { principal: "ann", tool: another.tool }));
        await store.write(createQueued(`b${name}`, { principal: "bob", tool: another.tool }));
        await store.write(createQueued(`c${name}`, { principal: "cy" }));
      }
      await store.write(createQueued("d", { principal: "cy", tool: noHandler.tool }));
      let turns: Turns | undefined;
      const order: string[] = [];
      for (let round = 0; round < 3; round++) {
        const tokens = ["c1", "c2"];
        const command = { type: "claim", now: noon, handlers: [aHandler, one], tokens } as const;
        const result = await store.write<"claim">(turns === undefined ? command : { ...command, turns });
        order.push(...result.tasks.map(({ id }) => id));
        turns = result.turns;
        for (const { id } of result.tasks) await store.write({ type: "cancel", now: noon, id });
      }
      assert.deepEqual(
        order.filter((id) => !id.startsWith("task-c")),
        ["task-a1", "task-b1", "task-a2"],
      );
    },
  }),

  ...ownerCases("limit", {
    "includes what other owners run, until it is released": async ({ store, join, kill }) => {
      const { store: other, owner: otherOwner } = await join();
      for (const name of ["1", "2", "3"]) {
        await store.write({ ...createQueued(name), forAnyOwner: true });
      }
      assert.equal((await claimWith(other, limited)).tasks.length, 2);
      assert.equal(await store.hasClaimable([limited]), false);
      await kill(otherOwner);
      await reclaimGone(store);
      assert.equal((await claimWith(store, limited)).tasks.length, 2);
    },
  }),
];

const taskA = "task-a";

function claimAtVersion(store: TaskStore, token: string, version?: number): Promise<CommandResult<"claim">> {
  const handler = version === undefined ? aHandler : { ...aHandler, version };
  return store.write({ type: "claim", now: noon + 9, handlers: [handler], tokens: [token] });
}

export const versionCases = storeCases("versions", {
  "a task has no version before it starts": async ({ store }) => {
    await store.write({ ...createQueued("a"), version: 3 });
    assertMembers(await store.get(taskA), { toolVersion: null });
  },

  "a task keeps the version of the tool that first started it, whatever claims it later": async ({
    store,
  }) => {
    await store.write(createQueued("a"));
    assertMembers(await claimAtVersion(store, "c1", 2), { tasks: [{ id: taskA, toolVersion: 2 }] });
    await store.write({ type: "release", now: noon, id: taskA, token: "c1" });
    assertMembers(await claimAtVersion(store, "c2", 3), {
      tasks: [{ id: taskA, toolVersion: 2, attempt: 2 }],
    });
    assertMembers(await store.get(taskA), { toolVersion: 2 });
  },

  "a task that runs at once, or is started by its id, has one too": async ({ store }) => {
    await store.write({ ...createRunning("a"), version: 4 });
    await store.write(createQueued("b"));
    await store.write({ type: "start", now: noon, id: "task-b", token: "s1", version: 5 });
    assertMembers(await store.get(taskA), { toolVersion: 4 });
    assertMembers(await store.get("task-b"), { toolVersion: 5 });
  },

  "a task that started without a version never gets one": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "release", now: noon, id: taskA, token: "t1" });
    assertMembers(await claimAtVersion(store, "c1", 2), { tasks: [{ id: taskA, toolVersion: null }] });
  },
});
