import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import type { StoredDelivery } from "../task/delivery.ts";
import { resultOutcome } from "../task/outcome.ts";
import { assertMembers, ownerCases, storeCases } from "./store-case.ts";
import { createQueued, createRunning, noon, changesOf } from "./sample-task.ts";

const notifies = ["billing"];

const outcome = resultOutcome({ content: [] });

const far = 10_000_000;

/** Takes a webhook's due messages. */
async function take(
  store: TaskStore,
  given: { hook?: string; now?: number; limit?: number; until?: number } = {},
): Promise<readonly StoredDelivery[]> {
  const { hook = "billing", now = noon + far, limit = 99 } = given;
  const { until = now + 60_000 } = given;
  return (await store.write({ type: "claim_deliveries", now, hook, limit, until })).deliveries;
}

/** What a webhook has not accepted yet, in order. */
async function undelivered(store: TaskStore, hook = "billing"): Promise<string> {
  return (await take(store, { hook })).map(({ event, taskId }) => `${taskId} ${event}`).join(", ");
}

async function cancelled(store: TaskStore, name: string, now = noon): Promise<void> {
  await store.write({ ...createQueued(name, { notifies }), now });
  await store.write({ type: "cancel", now, id: `task-${name}` });
}

export const outboxCases = [
  ...storeCases("outbox", {
    "webhooks get a message for each status of a task, and for nothing else": async ({ store }) => {
      await store.write(createRunning("a", { notifies }));
      const held = { now: noon + 1, id: "task-a", token: "t1" };
      await store.write({ type: "update", ...held, changes: { statusMessage: "half", pollIntervalMs: 5 } });
      await store.write({ type: "mark", ...held });
      const input = { key: "ok", method: "elicitation/create", params: "{}" } as const;
      await store.write({ type: "open_input", ...held, input, requestHash: "h", deadlineAt: null });
      const answers = [{ key: "ok", value: "{}" }];
      await store.write({ type: "answer_inputs", now: noon + 2, id: "task-a", answers });
      await store.write({ type: "release", ...held });
      await store.write({ type: "start", now: noon + 3, id: "task-a", token: "t2" });
      await store.write({ type: "settle", now: noon + 4, id: "task-a", token: "t2", outcome });
      await store.write({ type: "settle", now: noon + 5, id: "task-a", token: "t2", outcome });
      const all = await take(store);
      assert.deepEqual(
        all.map(({ event, at }) => [event, at - noon]),
        [
          ["created", 0],
          ["input_required", 1],
          ["working", 2],
          ["completed", 4],
        ],
      );
      const last = all.at(-1);
      const task = await store.get("task-a");
      assertMembers(last, { hook: "billing", taskId: "task-a", tool: "publish", principal: "ann" });
      assertMembers(last, { generation: "2026-07-28", version: task?.version, tries: 1, problem: null });
      assert.deepEqual(task?.notifies, notifies);
    },
    "webhooks get a message when a task fails, is cancelled, expires or is deleted": async ({ store }) => {
      for (const name of ["a", "b"]) await store.write(createRunning(name, { notifies }));
      await store.write(createQueued("c", { notifies }));
      const failed = resultOutcome({ content: [], isError: true });
      await store.write({ type: "settle", now: noon + 1, id: "task-a", token: "t1", outcome: failed });
      await store.write({
        type: "cancel",
        now: noon + 2,
        id: "task-b",
        by: { actor: "ann", action: "cancel" },
      });
      const error = { kind: "error", body: "{}" } as const;
      await store.write({ type: "fail", now: noon + 3, id: "task-c", outcome: error, statusMessage: "no" });
      await store.write({ type: "delete", now: noon + 4, id: "task-c" });
      await store.write({ type: "delete_expired", now: noon + 99 * 24 * 3_600_000, limit: 9 });
      assert.equal(
        await undelivered(store),
        "task-a created, task-b created, task-c created, task-a failed, task-b cancelled, task-c failed, task-c deleted",
      );
    },
    "each webhook of a task gets a message; a task without webhooks sends none": async ({ store }) => {
      await store.write(createQueued("a", { notifies: ["billing", "audit"] }));
      await store.write(createQueued("b"));
      await store.write({ type: "cancel", now: noon, id: "task-b" });
      assert.equal(await undelivered(store), "task-a created");
      assert.equal(await undelivered(store, "audit"), "task-a created");
      assert.equal(await undelivered(store, "other"), "");
      assert.equal((await store.get("task-b"))?.notifies, undefined);
    },
    "a taken message is due again after its lease, and gone once it was delivered": async ({ store }) => {
      await cancelled(store, "a");
      assert.equal(await store.outbox.nextDueAt("billing"), noon);
      assert.deepEqual(await take(store, { now: noon - 1 }), []);
      const [first] = await take(store, { now: noon, limit: 1, until: noon + 50 });
      assertMembers(first, { event: "created", tries: 1, dueAt: noon + 50 });
      const [second, ...none] = await take(store, { now: noon + 1, until: noon + 70 });
      assert.deepEqual([second?.event, none.length], ["cancelled", 0]);
      assert.equal(await store.outbox.nextDueAt("billing"), noon + 50);
      const [again] = await take(store, { now: noon + 50, until: noon + 60 });
      assertMembers(again, { seq: first?.seq, tries: 2 });
      // The first one's end comes too late: another process has taken it.
      await store.write({ type: "end_delivery", now: noon + 51, seq: first?.seq ?? 0, tries: 1 });
      assert.equal(await store.outbox.nextDueAt("billing"), noon + 60);
      await store.write({ type: "end_delivery", now: noon + 51, seq: first?.seq ?? 0, tries: 2 });
      await store.write({ type: "end_delivery", now: noon + 51, seq: second?.seq ?? 0, tries: 1 });
      assert.equal(await store.outbox.nextDueAt("billing"), null);
      assert.deepEqual(await store.outbox.counts(9), []);
    },
    "a failed message is retried at its time, is given up in the end, and can be resent": async ({
      store,
    }) => {
      await cancelled(store, "a");
      const [first, second] = await take(store, { now: noon });
      const seq = first?.seq ?? 0;
      await store.write({
        type: "retry_delivery",
        now: noon + 1,
        seq,
        tries: 1,
        at: noon + 9,
        problem: "\u0000 503",
      });
      const other = { seq: second?.seq ?? 0, tries: 1 };
      await store.write({ type: "retry_delivery", now: noon + 2, ...other, at: noon + 3, problem: null });
      assert.equal(await store.outbox.nextDueAt("billing"), noon + 3);
      const lastFailure = { at: noon + 1, problem: "\u0000 503" };
      const counted = { hook: "billing", waiting: 2, oldestAt: noon, givenUp: 0, lastFailure };
      assert.deepEqual(await store.outbox.counts(9), [counted]);
      await store.write({ type: "retry_delivery", now: noon + 4, seq, tries: 1, at: null, problem: "gone" });
      await store.write({ type: "end_delivery", now: noon + 4, ...other });
      assert.equal(await store.outbox.nextDueAt("billing"), null);
      assert.equal(await undelivered(store), "");
      const givenUp = {
        waiting: 0,
        oldestAt: null,
        givenUp: 1,
        lastFailure: { at: noon + 4, problem: "gone" },
      };
      assert.deepEqual(await store.outbox.counts(9), [{ hook: "billing", ...givenUp }]);
      const resend = { type: "resend_deliveries", now: noon + 5, hook: "billing", limit: 9 } as const;
      assert.deepEqual(await store.write(resend), { ok: true, resent: 1 });
      assert.deepEqual(await store.write(resend), { ok: true, resent: 0 });
      const [sent] = await take(store, { now: noon + 5 });
      assertMembers(sent, { seq, tries: 2, problem: "gone" });
    },
    "a message that was taken and not sent has no try more": async ({ store }) => {
      await cancelled(store, "a");
      const [first] = await take(store, { now: noon, limit: 1 });
      const seq = first?.seq ?? 0;
      const back = { type: "retry_delivery", now: noon + 1, seq, at: noon + 1, problem: null } as const;
      await store.write({ ...back, tries: 2, unsent: true }); // as another process knows it
      assert.equal((await store.outbox.ofTask("task-a", 99))[0]?.tries, 1);
      await store.write({ ...back, tries: 1, unsent: true });
      assertMembers((await store.outbox.ofTask("task-a", 99))[0], { seq, tries: 0, dueAt: noon + 1 });
      const again = await take(store, { now: noon + 1 });
      assertMembers(
        again.find((each) => each.seq === seq),
        { seq, tries: 1 },
      );
    },
    "a task's waiting messages are found among the newest": async ({ store }) => {
      for (const name of ["a", "b"]) await cancelled(store, name);
      const [first] = await take(store, { now: noon, limit: 1 });
      const failed = { seq: first?.seq ?? 0, tries: 1, at: null, problem: "503" };
      await store.write({ type: "retry_delivery", now: noon + 2, ...failed });
      const all = await store.outbox.ofTask("task-a", 99);
      assert.deepEqual(
        all.map(({ event, dueAt, tries, problem }) => [event, dueAt, tries, problem]),
        [
          ["created", null, 1, "503"],
          ["cancelled", noon, 0, null],
        ],
      );
      const newest = await store.outbox.ofTask("task-a", 3);
      assert.deepEqual(
        newest.map(({ event }) => event),
        ["cancelled"],
      );
      assert.deepEqual(await store.outbox.ofTask("task-c", 99), []);
    },
    "waiting messages are listed from the newest, and chosen ones are made due": async ({ store }) => {
      for (const name of ["a", "b"]) await cancelled(store, name);
      const all = await store.outbox.before(Number.MAX_SAFE_INTEGER, 99);
      assert.deepEqual(
        all.map(({ taskId, event }) => `${taskId} ${event}`),
        ["task-b cancelled", "task-b created", "task-a cancelled", "task-a created"],
      );
      const [, second, third, oldest] = all.map(({ seq }) => seq);
      assert.deepEqual(
        (await store.outbox.before(second ?? 0, 1)).map(({ seq }) => seq),
        [third],
      );
      assert.deepEqual(await store.outbox.before(oldest ?? 0, 9), []);
      await take(store, { now: noon, until: noon + far });
      const chosen = { type: "resend_deliveries", now: noon + 5, hook: "billing", limit: 1 } as const;
      await store.write({ ...chosen, seqs: [second ?? 0, oldest ?? 0, 1_000_000] });
      assert.deepEqual(
        (await take(store, { now: noon + 5 })).map(({ seq }) => seq),
        [oldest, second],
      );
    },
    "the oldest messages are dropped if there are too many, or if they are too old": async ({ store }) => {
      for (const [index, name] of ["a", "b", "c"].entries()) await cancelled(store, name, noon + index);
      const trim = async (most: number, before: number, limit = 99): Promise<number> =>
        (await store.write({ type: "trim_deliveries", now: noon, most, before, limit })).dropped;
      assert.equal(await trim(6, noon), 0);
      assert.equal(await trim(3, noon, 1), 1);
      assert.equal(await trim(4, noon), 1);
      assert.equal(await trim(99, noon + 2), 2);
      assert.equal(await undelivered(store), "task-c created, task-c cancelled");
      const [counts] = await store.outbox.counts(1);
      assert.equal(counts?.waiting, 1);
    },
  }),
  ...ownerCases("outbox", {
    "owners share due messages, and take over those of a dead owner": async ({ store, join }) => {
      const other = await join();
      for (const name of ["a", "b", "c", "d"]) await store.write(createQueued(name, { notifies }));
      const now = noon + 1;
      const taken = await Promise.all([take(store, { now, limit: 2 }), take(other.store, { now, limit: 2 })]);
      const seqs = taken.flat().map(({ seq }) => seq);
      assert.equal(new Set(seqs).size, seqs.length);
      const later = await take(other.store, { now: now + 60_000 });
      assert.deepEqual(
        new Set(later.map(({ taskId }) => taskId)),
        new Set(["task-a", "task-b", "task-c", "task-d"]),
      );
    },
  }),
];

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
  "each committed change is announced once, in order, with its version": async ({ store }) => {
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

  "a command that changed nothing is not announced": async ({ store }) => {
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

  "nothing is announced during the call, and everything once the write resolves": async ({ store }) => {
    const seen = changesOf(store);
    const write = store.write(createQueued("a"));
    assert.deepEqual(seen, []);
    await write;
    assert.deepEqual(seen, [{ id, version: 1 }]);
  },

  "a change is announced as this owner's own": async ({ store }) => {
    const owners: unknown[] = [];
    store.subscribe((_, by) => owners.push(by));
    await store.write(createQueued("a"));
    await store.write({ type: "start", now: noon, id, token: "t1" });
    assert.deepEqual(owners, ["self", "self"]);
  },

  "a listener can read the announced change": async ({ store }) => {
    const reads: Promise<unknown>[] = [];
    store.subscribe((changes) => {
      if (changes !== "gap") reads.push(...changes.map((change) => store.get(change.id)));
    });
    await store.write(createQueued("a"));
    assertMembers(await Promise.all(reads), [{ id, version: 1 }]);
  },

  "a listener that throws affects neither the write nor other listeners, and causes a warning": async ({
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

  "unsubscribing leaves another subscription of the same listener in place": async ({ store }) => {
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

  "subscribing or unsubscribing during an announcement takes effect at the next commit": async ({
    store,
  }) => {
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
