import assert from "node:assert/strict";
import type {
  MessageQueues,
  NewMessage,
  SessionNews,
  SessionStore,
  StoredSession,
} from "../store/session-store.ts";
import type { TaskStore } from "../store/store.ts";
import { createQueued, createRunning, noon, reclaimGone, changesOf } from "./sample-task.ts";
import { ownerCases, storeCases, type Check, type StoreUnderTest } from "./store-case.ts";

const room = { ofPrincipal: 100, total: 100 };

function session(id: string, more: Partial<StoredSession> = {}): StoredSession {
  return { id, principal: "ann", expiresAt: noon, state: `{"of":"${id}"}`, ...more };
}

function withSessions(
  check: (sessions: SessionStore, under: StoreUnderTest) => Promise<void>,
): Check<"sessions"> {
  return (under) => check(under.store.sessions, under);
}

async function idsOf(sessions: SessionStore, ids: readonly string[]): Promise<string[]> {
  const found = await Promise.all(ids.map((id) => sessions.get(id)));
  return found.flatMap((stored) => (stored === undefined ? [] : [stored.id]));
}

async function fromSession(
  store: TaskStore,
  name: string,
  of: string,
  requestId: string | number,
): Promise<void> {
  const command = createQueued(name);
  const request = { ...command.request, origin: { capabilities: {}, session: of, requestId } };
  await store.write({ ...command, request });
}

export const sessionCases = storeCases("sessions", {
  "a stored session is found by its id, unchanged": withSessions(async (sessions) => {
    const odd = session("a", { principal: null, state: '{"s":"\ud800\u0000é"}' });
    await sessions.put(odd, room);
    assert.deepEqual(await sessions.get("a"), odd);
    assert.equal(await sessions.get("b"), undefined);
    await sessions.put(session("a"), room);
    assert.deepEqual(await sessions.get("a"), session("a"));
  }),

  "its state changes only if it is still the expected one": withSessions(async (sessions) => {
    const odd = '{"s":"\ud800\u0000é"}';
    await sessions.put(session("a", { state: odd }), room);
    assert.equal(await sessions.update("a", "{}", odd), true);
    assert.equal(await sessions.update("a", '{"late":true}', odd), false);
    assert.equal(await sessions.update("gone", "{}", "{}"), false);
    assert.deepEqual(await sessions.get("a"), session("a", { state: "{}" }));
    assert.equal(await sessions.get("gone"), undefined);
  }),

  "its end can move later, but never earlier": withSessions(async (sessions) => {
    await sessions.put(session("a"), room);
    const ends = (expiresAt: number): { id: string; expiresAt: number }[] =>
      ["a", "gone"].map((id) => ({ id, expiresAt }));
    for (const expiresAt of [noon + 5, noon + 2]) await sessions.extend(ends(expiresAt));
    assert.deepEqual(await sessions.get("a"), session("a", { expiresAt: noon + 5 }));
    assert.equal(await sessions.get("gone"), undefined);
  }),

  "a session that was extended meanwhile is not deleted": withSessions(async (sessions) => {
    for (const id of ["a", "b"]) await sessions.put(session(id, { expiresAt: noon + 5 }), room);
    const at = (expiresAt: number): { id: string; expiresAt: number }[] =>
      ["a", "gone"].map((id) => ({ id, expiresAt }));
    await sessions.deleteUnextended(at(noon + 4));
    assert.deepEqual(await idsOf(sessions, ["a", "b"]), ["a", "b"]);
    await sessions.deleteUnextended(at(noon + 5));
    assert.deepEqual(await idsOf(sessions, ["a", "b"]), ["b"]);
  }),

  "listeners are notified of sessions that others changed or deleted, with their notes": withSessions(
    async (sessions) => {
      const heard: SessionNews[] = [];
      const stop = sessions.subscribe((news) => heard.push(...(news === "gap" ? [] : news)));
      const few = { ofPrincipal: 2, total: 100 };
      for (const id of ["a", "b", "c"]) await sessions.put(session(id), few);
      const [gone] = heard;
      assert.deepEqual(heard, [{ id: gone?.id, message: null }]); // deleted to make room
      const [first = "", second = ""] = await idsOf(sessions, ["a", "b", "c"]);
      await sessions.update(first, "{}", "no");
      await sessions.update(first, "{}", session(first).state);
      await sessions.send(second, "hello \ud800\u0000é");
      await sessions.send("gone", "who?");
      await sessions.extend([{ id: first, expiresAt: noon + 5 }]);
      await sessions.delete(["gone", first]);
      await sessions.deleteUnextended([{ id: second, expiresAt: noon }]);
      stop();
      await sessions.send(second, "nobody listens");
      assert.deepEqual(heard.slice(1), [
        { id: first, message: null },
        { id: second, message: "hello \ud800\u0000é" },
        { id: "gone", message: "who?" },
        { id: first, message: null },
        { id: second, message: null },
      ]);
    },
  ),

  "expired sessions are deleted up to a limit, and named ones at once": withSessions(async (sessions) => {
    for (const [index, id] of ["a", "b", "c", "d"].entries()) {
      await sessions.put(session(id, { expiresAt: noon + index }), room);
    }
    assert.equal(await sessions.deleteExpired(noon + 2, 2), 2);
    assert.equal(await sessions.deleteExpired(noon + 2, 2), 1);
    assert.equal(await sessions.deleteExpired(noon + 2, 2), 0);
    assert.deepEqual(await idsOf(sessions, ["a", "b", "c", "d"]), ["d"]);
    await sessions.delete(["d", "gone"]);
    assert.deepEqual(await idsOf(sessions, ["d"]), []);
  }),

  "the principal's session that ends first makes room for its next one": withSessions(async (sessions) => {
    const few = { ofPrincipal: 2, total: 100 };
    await sessions.put(session("late", { expiresAt: noon + 9 }), few);
    await sessions.put(session("soon", { expiresAt: noon + 1 }), few);
    await sessions.put(session("other", { principal: "bob" }), few);
    for (const id of ["n1", "n2", "n3"]) await sessions.put(session(id, { principal: null }), few);
    await sessions.put(session("next", { expiresAt: noon + 5 }), few);
    const all = ["late", "soon", "other", "n1", "n2", "n3", "next"];
    assert.deepEqual(await idsOf(sessions, all), ["late", "other", "n1", "n2", "n3", "next"]);
  }),

  "at the total limit, the principal with the most sessions makes room": withSessions(async (sessions) => {
    const few = { ofPrincipal: 100, total: 4 };
    await sessions.put(session("bob's", { principal: "bob", expiresAt: noon }), few);
    for (const [index, id] of ["a", "b", "c"].entries()) {
      await sessions.put(session(id, { expiresAt: noon + 10 - index }), few);
    }
    await sessions.put(session("carl's", { principal: "carl" }), few);
    assert.deepEqual(await idsOf(sessions, ["bob's", "a", "b", "c", "carl's"]), [
      "bob's",
      "a",
      "b",
      "carl's",
    ]);
    await sessions.put(session("d"), { ofPrincipal: 100, total: 2 });
    assert.equal((await idsOf(sessions, ["bob's", "a", "b", "carl's", "d"])).length, 2);
  }),

  "the tasks of a request are found, and the unfinished tasks of a session": withSessions(
    async (sessions, { store }) => {
      await fromSession(store, "a", "s", 1);
      await fromSession(store, "b", "s", 1);
      await fromSession(store, "c", "s", "1");
      await fromSession(store, "d", "other", 1);
      const long = Array.from({ length: 3_000 }, (_, n) => ((n * 7_919) % 9_973).toString(36)).join("");
      await fromSession(store, "long", "other", long);
      await store.write(createRunning("e"));
      await store.write({ type: "cancel", now: noon, id: "task-a" });
      assert.deepEqual(await sessions.tasksOf("s", 10, 1), ["task-b", "task-a"]);
      assert.deepEqual(await sessions.tasksOf("s", 1, 1), ["task-b"]);
      assert.deepEqual(await sessions.tasksOf("s", 10, "1"), ["task-c"]);
      assert.deepEqual((await sessions.tasksOf("s", 10)).toSorted(), ["task-b", "task-c"]);
      assert.equal((await sessions.tasksOf("s", 1)).length, 1);
      assert.deepEqual(await sessions.tasksOf("none", 10), []);
      assert.deepEqual(await sessions.tasksOf("other", 10, long), ["task-long"]);
      await store.write({ type: "delete", now: noon, id: "task-a" });
      assert.deepEqual(await sessions.tasksOf("s", 10, 1), ["task-b"]);
    },
  ),

  "a closed store refuses everything": withSessions(async (sessions, { store }) => {
    await store.close();
    const calls = [
      () => sessions.get("a"),
      () => sessions.put(session("a"), room),
      () => sessions.update("a", "{}", "{}"),
      () => sessions.extend([]),
      () => sessions.delete([]),
      () => sessions.deleteUnextended([]),
      () => sessions.send("a", ""),
      () => sessions.deleteExpired(noon, 1),
      () => sessions.tasksOf("a", 1),
    ];
    for (const call of calls) await assert.rejects(call, { code: "store_closed" });
  }),
});

export const sharedSessionCases = ownerCases("sessions", {
  "all owners share sessions and are notified of changes": async ({ store, join }) => {
    const { store: other } = await join();
    const [here, there] = [store.sessions, other.sessions];
    await here.put(session("a"), room);
    assert.deepEqual(await there.get("a"), session("a"));
    const heard: SessionNews[] = [];
    const all = Promise.withResolvers<void>();
    const stop = here.subscribe((news) => {
      if (news === "gap") return;
      heard.push(...news);
      if (heard.length === 3) all.resolve();
    });
    await there.update("a", "{}", session("a").state);
    await there.send("a", "hello \ud800\u0000é");
    await there.delete(["a"]);
    await all.promise;
    stop();
    assert.deepEqual(heard, [
      { id: "a", message: null },
      { id: "a", message: "hello \ud800\u0000é" },
      { id: "a", message: null },
    ]);
    assert.equal(await here.get("a"), undefined);
  },

  "late writes of a dead owner are refused": async ({ store, join, kill }) => {
    const { store: lost, owner } = await join();
    await lost.sessions.put(session("a"), room);
    await kill(owner);
    await reclaimGone(store);
    await assert.rejects(lost.sessions.delete(["a"]), { code: "store_lost" });
    assert.deepEqual(await store.sessions.get("a"), session("a"));
  },
});

const taskA = "task-a";

const ok = { ok: true } as const;

function message(body: string): NewMessage {
  return { body, bound: false };
}

/** A case with a task whose queue is empty. */
function withQueues(
  check: (queues: MessageQueues, under: StoreUnderTest) => Promise<void>,
): Check<"messages"> {
  return async (under) => {
    await under.store.write(createRunning("a"));
    await check(under.store.messages, under);
  };
}

const casesOfOne = storeCases("messages", {
  "are taken once, in order and unchanged": withQueues(async (queues) => {
    const bodies = ["1", '{ "a":1.0 }', '"\ud800"', "\ufffe", "1"];
    for (const body of bodies) assert.deepEqual(await queues.put(taskA, message(body), null), ok);
    assert.deepEqual(await queues.take(taskA, 2), bodies.slice(0, 2));
    assert.deepEqual(await queues.take(taskA, 0), []);
    assert.deepEqual(await queues.put(taskA, message("6"), null), ok);
    assert.deepEqual(await queues.take(taskA, null), [...bodies.slice(2), "6"]);
    assert.deepEqual(await queues.take(taskA, null), []);
  }),

  "each has one of many concurrent takers": withQueues(async (queues) => {
    const bodies = Array.from({ length: 30 }, (_, index) => String(index));
    await Promise.all(bodies.map((body) => queues.put(taskA, message(body), null)));
    const takes = await Promise.all(bodies.map(() => queues.take(taskA, 1)));
    assert.deepEqual(takes.flat(), bodies);
  }),

  "belong to their task": withQueues(async (queues, { store }) => {
    await store.write(createRunning("b"));
    await queues.put(taskA, message("a1"), null);
    await queues.put("task-b", message("b1"), null);
    assert.deepEqual(await queues.take("task-b", null), ["b1"]);
    assert.deepEqual(await queues.take(taskA, null), ["a1"]);
    assert.deepEqual(await queues.put("task-x", message("x"), null), { ok: false, reason: "unknown" });
    assert.deepEqual(await queues.take("task-x", null), []);
  }),

  "fill a queue only up to its limit": withQueues(async (queues) => {
    const puts = ["1", "2", "3"].map((body) => queues.put(taskA, message(body), 2));
    assert.deepEqual(await Promise.all(puts), [ok, ok, { ok: false, reason: "full" }]);
    await queues.take(taskA, 1);
    assert.deepEqual(await queues.put(taskA, message("4"), 2), ok);
    assert.deepEqual(await queues.put(taskA, message("5"), null), ok);
    assert.deepEqual(await queues.take(taskA, null), ["2", "4", "5"]);
  }),

  "do not change their task, and are kept after its end": withQueues(async (queues, { store }) => {
    const before = await store.snapshot(taskA);
    const changes = changesOf(store);
    await queues.put(taskA, message("1"), null);
    assert.deepEqual(await store.snapshot(taskA), before);
    assert.deepEqual(changes, []);
    await store.write({ type: "cancel", now: noon, id: taskA });
    await queues.put(taskA, message("2"), null);
    assert.deepEqual(await queues.take(taskA, null), ["1", "2"]);
  }),

  "are deleted with their task, whether it expires or is deleted": withQueues(async (queues, { store }) => {
    await store.write(createRunning("b", { expiry: { from: "created", ms: 10 } }));
    for (const id of [taskA, "task-b"]) {
      await queues.put(id, message("1"), null);
      await store.write({ type: "cancel", now: noon, id });
    }
    await store.write({ type: "delete", now: noon, id: taskA });
    await store.write({ type: "delete_expired", now: noon + 10, limit: 1 });
    for (const name of ["a", "b"]) {
      assert.deepEqual(await queues.take(`task-${name}`, null), []);
      await store.write(createRunning(name));
      assert.deepEqual(await queues.take(`task-${name}`, null), []);
    }
  }),

  "that are bound to a process keep their place in the queue": withQueues(async (queues) => {
    for (const [index, bound] of [true, false, true].entries()) {
      await queues.put(taskA, { body: String(index), bound }, 3);
    }
    assert.deepEqual(await queues.put(taskA, message("3"), 3), { ok: false, reason: "full" });
    assert.deepEqual(await queues.take(taskA, null), ["0", "1", "2"]);
  }),

  "are refused by a closed store": withQueues(async (queues, { store }) => {
    await store.close();
    await assert.rejects(queues.put(taskA, message("1"), null), { code: "store_closed" });
    await assert.rejects(queues.take(taskA, null), { code: "store_closed" });
  }),
});

const casesOfSeveral = ownerCases("messages", {
  "that are bound to one owner are taken by no other, and deleted with it": async ({ store, join, kill }) => {
    const { store: other, owner } = await join();
    const { messages } = store;
    await store.write(createRunning("a"));
    for (const [index, bound] of [true, false, true].entries()) {
      await other.messages.put(taskA, { body: String(index), bound }, null);
    }
    await messages.put(taskA, { body: "3", bound: true }, null);
    assert.deepEqual(await other.messages.take(taskA, 1), ["0"]);
    assert.deepEqual(await messages.take(taskA, null), ["1", "3"]);
    await kill(owner);
    await reclaimGone(store);
    assert.deepEqual(await messages.put(taskA, message("4"), 1), ok);
    assert.deepEqual(await messages.take(taskA, null), ["4"]);
  },

  "are neither put nor taken by a dead owner": async ({ store, join, kill }) => {
    const { store: lost, owner } = await join();
    await lost.write(createRunning("a"));
    await kill(owner);
    await reclaimGone(store);
    await assert.rejects(lost.messages.put(taskA, message("1"), null), { code: "store_lost" });
    await store.messages.put(taskA, message("2"), null);
    await assert.rejects(lost.messages.take(taskA, null), { code: "store_lost" });
    assert.deepEqual(await store.messages.take(taskA, null), ["2"]);
  },
});

/** For stores that keep what they acknowledged. */
export const durableSessionCases = [
  ...storeCases("sessions", {
    "another store in the same place finds them": async ({ store, reopen }) => {
      await store.sessions.put(session("a"), room);
      const { sessions } = await reopen();
      assert.deepEqual(await sessions.get("a"), session("a"));
    },
  }),
  ...storeCases("messages", {
    "keep their places when their store is opened again, except those bound to the process": async ({
      store,
      reopen,
    }) => {
      await store.write(createRunning("a"));
      for (const [index, bound] of [true, false, true, false].entries()) {
        await store.messages.put(taskA, { body: String(index), bound }, null);
      }
      const second = await reopen();
      await reclaimGone(second);
      const { messages } = second;
      assert.deepEqual(await messages.put(taskA, { body: "4", bound: true }, 3), ok);
      assert.deepEqual(await messages.take(taskA, 1), ["1"]);
      assert.deepEqual(await messages.take(taskA, null), ["3", "4"]);
    },
  }),
];

export const messageCases = [...casesOfOne, ...casesOfSeveral];
