import assert from "node:assert/strict";
import type { AdminStore, TaskRange } from "../store/admin-store.ts";
import type { TaskStore } from "../store/store.ts";
import type { JournalEntry } from "../task/journal.ts";
import { resultOutcome, type Outcome } from "../task/outcome.ts";
import { assertMembers, ownerCases, storeCases } from "./store-case.ts";
import {
  createQueued,
  createRunning,
  noon,
  sampleTask,
  reclaimGone,
  callInChain,
  callTool,
  changesOf,
} from "./sample-task.ts";
import type { NewTask } from "../task/record.ts";

const day = 24 * 3_600_000;

const ann = { actor: "ann", action: "cancel" };

const failed: Outcome = { kind: "error", body: '{"code":-32603,"message":"no"}' };

/** The names of the tasks of a range, in its order. */
async function names(
  admin: AdminStore,
  range: TaskRange,
  before: string | null = null,
  limit = 99,
): Promise<string> {
  const tasks = await admin.tasks(range, before, limit);
  return tasks.map(({ id }) => id.replace("task-", "")).join("");
}

async function settle(store: TaskStore, name: string, outcome: Outcome, tool = "publish"): Promise<void> {
  await store.write(createRunning(name, { tool }));
  await store.write({ type: "settle", now: noon + 1, id: `task-${name}`, token: "t1", outcome });
}

/** Creates one or two tasks of every kind. */
async function several(store: TaskStore): Promise<void> {
  await store.write(createQueued("a"));
  await store.write(createRunning("b", { tool: "withdraw", principal: null }));
  await settle(store, "c", resultOutcome({ content: [] }));
  await settle(store, "d", failed);
  await settle(store, "e", resultOutcome({ content: [], isError: true }), "withdraw");
  await settle(store, "f", failed);
  await store.write(createQueued("g"));
  await store.write({ type: "cancel", now: noon + 1, id: "task-g" });
}

const step: JournalEntry = {
  key: "render",
  kind: "step",
  method: null,
  request: null,
  requestHash: null,
  value: '{ "pages": 1.0 }',
  error: null,
  deadlineAt: null,
  tries: 0,
  begunAt: noon - 5,
  doneAt: noon - 1,
  doneVersion: null,
};

export const adminCases = [
  ...storeCases("admin", {
    "tasks are listed by state, newest first": async ({ store }) => {
      const { admin } = store;
      await several(store);
      assert.equal(await names(admin, { of: "all" }), "gfedcba");
      assert.equal(await names(admin, { of: "open" }), "ba");
      assert.equal(await names(admin, { of: "ended", tool: "publish", as: "error" }), "fd");
      assert.equal(await names(admin, { of: "ended", tool: "publish", as: "result" }), "c");
      assert.equal(await names(admin, { of: "ended", tool: "withdraw", as: "error_result" }), "e");
      assert.equal(await names(admin, { of: "ended", tool: "publish", as: "cancelled" }), "g");
      const of = { of: "principal", generation: "2026-07-28" } as const;
      assert.equal(await names(admin, { ...of, principal: "ann" }), "gfedca");
      assert.equal(await names(admin, { ...of, principal: null }), "b");
      assert.deepEqual(await admin.endedTools(), ["publish", "withdraw"]);
    },
    "the keys of failed entries are found": async ({ store }) => {
      const { admin } = store;
      const held = { now: noon, id: "task-a", token: "t1" } as const;
      await store.write(createRunning("a"));
      const ended = { ...held, type: "record_step" } as const;
      await store.write({ ...ended, key: "done", value: "1", error: null });
      await store.write({ ...ended, key: "failed", value: null, error: "{}" });
      await store.write({
        ...held,
        type: "retry_step",
        key: "again",
        error: "{}",
        tries: 1,
        until: noon + 9,
      });
      assert.deepEqual((await admin.failedKeys("task-a", 9)).toSorted(), ["again", "failed"]);
      assert.equal((await admin.failedKeys("task-a", 1)).length, 1);
    },
    "a page has tasks below an id, up to its limit; a count stops at its limit": async ({ store }) => {
      const { admin } = store;
      await several(store);
      assert.equal(await names(admin, { of: "all" }, "task-e", 2), "dc");
      assert.equal(await names(admin, { of: "open" }, "task-a"), "");
      assert.equal(await names(admin, { of: "ended", tool: "publish", as: "error" }, "task-f"), "d");
      assert.equal(await admin.count({ of: "all" }, 100), 7);
      assert.equal(await admin.count({ of: "all" }, 3), 3);
      assert.equal(await admin.count({ of: "open" }, 100), 2);
      assert.equal(await admin.count({ of: "ended", tool: "publish", as: "error" }, 100), 2);
      assert.equal(await admin.count({ of: "asking" }, 100), 0);
    },
    "child tasks are found below their parent, without their own children": async ({ store }) => {
      const { admin } = store;
      await callInChain(store, "a", "b", "c");
      await store.write(callTool("a", "d"));
      await store.write(createQueued("e"));
      const of = { of: "children", parent: "task-a" } as const;
      assert.equal(await names(admin, of), "db");
      assert.equal(await names(admin, of, "task-d", 1), "b");
      assert.equal(await names(admin, { ...of, parent: "task-d" }), "");
      assert.deepEqual([await admin.count(of, 9), await admin.count(of, 1)], [2, 1]);
      assertMembers((await admin.tasks(of, null, 1))[0], { parent: { id: "task-a", key: "call-d" } });
    },
    "the queue length of each tool is counted up to a limit": async ({ store }) => {
      const { admin } = store;
      assert.deepEqual(await admin.queues(9), []);
      for (const [name, at] of Object.entries({ a: 2, b: 1, c: 3 }))
        await store.write({ ...createQueued(name), now: noon + at });
      await store.write(createQueued("d", { tool: "withdraw", principal: null }));
      await store.write(createRunning("e"));
      const held = { now: noon, id: "task-e", token: "t1" };
      await store.write({ type: "retry", ...held, until: noon + 50, statusMessage: "again" });
      await store.write(createRunning("f"));
      await settle(store, "g", failed);
      const queues = await admin.queues(9);
      assert.deepEqual(
        queues.toSorted((a, b) => `${a.tool} ${a.state}`.localeCompare(`${b.tool} ${b.state}`)),
        [
          { tool: "publish", state: "parked", tasks: 1, since: null },
          { tool: "publish", state: "ready", tasks: 3, since: noon + 1 },
          { tool: "withdraw", state: "ready", tasks: 1, since: noon },
        ],
      );
      const cut = (await admin.queues(2)).map(({ tool, state, tasks }) => `${tool} ${state} ${tasks}`);
      assert.deepEqual(cut.toSorted(), ["publish parked 1", "publish ready 2", "withdraw ready 1"]);
    },
    "a task is found by an open question until the question is answered": async ({ store }) => {
      const { admin } = store;
      await store.write(createRunning("a"));
      const input = { key: "ok", method: "elicitation/create", params: "{}" } as const;
      const question = {
        now: noon + 1,
        id: "task-a",
        token: "t1",
        input,
        requestHash: "h",
        deadlineAt: null,
      };
      await store.write({ type: "open_input", ...question });
      assert.equal(await names(admin, { of: "asking" }), "a");
      assert.equal(await admin.count({ of: "asking" }, 9), 1);
      const answers = [{ key: "ok", value: "{}" }];
      await store.write({ type: "answer_inputs", now: noon + 2, id: "task-a", answers });
      assert.equal(await names(admin, { of: "asking" }), "");
    },
    "an operator's action is recorded with its change, and a refused one is not": async ({ store }) => {
      const { admin } = store;
      await store.write(createQueued("a"));
      const detail = { reason: "\u0000 by hand" };
      await store.write({ type: "cancel", now: noon + 1, id: "task-a", by: { ...ann, detail } });
      await store.write({ type: "cancel", now: noon + 2, id: "task-a", by: ann });
      await store.write({
        type: "delete",
        now: noon + 3,
        id: "task-a",
        by: { actor: "cy", action: "delete" },
      });
      const [deleted, cancelled, ...others] = await admin.actions(null, null, 9);
      assert.deepEqual(others, []);
      assertMembers(cancelled, {
        at: noon + 1,
        actor: "ann",
        action: "cancel",
        taskId: "task-a",
        tool: "publish",
      });
      assert.deepEqual(JSON.parse(cancelled?.detail ?? ""), detail);
      assertMembers(deleted, { at: noon + 3, actor: "cy", action: "delete", taskId: "task-a", detail: null });
      assert.deepEqual(await admin.actions("task-a", deleted?.seq ?? null, 9), [cancelled]);
      assert.deepEqual(await admin.actions(null, null, 1), [deleted]);
      assert.deepEqual(await admin.actions("task-b", null, 9), []);
    },
    "a paused tool stays paused until it is resumed, and every owner is notified": async ({ store }) => {
      const { admin } = store;
      assert.equal((await store.renew()).paused, undefined);
      await store.write({
        type: "pause_tool",
        now: noon,
        tool: "publish",
        actor: "ann",
        by: { actor: "ann", action: "pause" },
      });
      await store.write({ type: "pause_tool", now: noon + 1, tool: "publish", actor: "cy" });
      assert.deepEqual(await admin.paused(), [{ tool: "publish", since: noon, actor: "ann" }]);
      assert.deepEqual((await store.renew()).paused, ["publish"]);
      assertMembers((await admin.actions(null, null, 9))[0], {
        action: "pause",
        tool: "publish",
        taskId: null,
      });
      await store.write({ type: "resume_tool", now: noon + 2, tool: "publish" });
      assert.deepEqual(await admin.paused(), []);
    },
    "a task can be extended before and after its end": async ({ store }) => {
      await store.write(createQueued("a"));
      await settle(store, "b", failed);
      await store.write(createQueued("c", { expiry: { from: "terminal", ms: 5 }, runUntil: noon + 10 }));
      const seen = changesOf(store);
      const until = noon + day;
      for (const name of ["a", "b", "c"])
        await store.write({ type: "extend", now: noon + 2, id: `task-${name}`, until });
      assert.deepEqual(
        seen.map(({ id, version }) => `${id} ${version}`),
        ["task-a 2", "task-b 3", "task-c 2"],
      );
      assertMembers(await store.get("task-a"), { sweepAt: until, expiry: { from: "created", ms: day } });
      assertMembers(await store.get("task-b"), { sweepAt: until, expiry: { from: "created", ms: 60_000 } });
      assertMembers(await store.get("task-c"), {
        sweepAt: until,
        runUntil: until,
        expiry: { from: "terminal", ms: 5 },
      });
      await store.write({ type: "extend", now: noon + 3, id: "task-a", until: null });
      assertMembers(await store.get("task-a"), { sweepAt: null, expiry: { from: "created", ms: null } });
      assert.deepEqual(await store.write({ type: "extend", now: noon, id: "task-z", until }), {
        ok: false,
        reason: "unknown",
      });
    },
    "a task can start with a journal": async ({ store }) => {
      const by = { actor: "ann", action: "retry", detail: { of: "task-a" } };
      const created = await store.write({ ...createQueued("b"), journal: [step], by });
      assertMembers(created, { ok: true, created: true, task: { journalled: true, version: 1 } });
      assertMembers(await store.journalEntry("task-b", "render"), step);
      assertMembers((await store.admin.actions("task-b", null, 9))[0], {
        action: "retry",
        tool: sampleTask("b").tool,
      });
    },
  }),
  ...ownerCases("admin", {
    "a task whose process is gone can be extended once another process has taken it over": async ({
      store,
      join,
      kill,
    }) => {
      const { store: lost, owner } = await join();
      await lost.write(createRunning("a"));
      const extend = { type: "extend", now: noon, id: "task-a", until: null } as const;
      assertMembers(await store.write(extend), { ok: true });
      await kill(owner);
      assert.deepEqual(await store.write(extend), { ok: false, reason: "state" });
      await reclaimGone(store);
      assertMembers(await store.write(extend), { ok: true, task: { state: "queued", sweepAt: null } });
    },
    "every owner learns of a pause when it renews its lease": async ({ store, join }) => {
      const { store: other } = await join();
      await store.write({ type: "pause_tool", now: noon, tool: "publish", actor: "ann" });
      assert.deepEqual((await other.renew()).paused, ["publish"]);
      await other.write({ type: "resume_tool", now: noon, tool: "publish" });
      assert.equal((await store.renew()).paused, undefined);
    },
  }),
];

const ofAnn = { generation: "2026-07-28", principal: "ann" } as const;

async function create(store: TaskStore, each: string, members: Partial<NewTask> = {}): Promise<void> {
  for (const name of each) await store.write(createQueued(name, members));
}

/** The names of the tasks in a list, in its order. */
async function listedNames(
  store: TaskStore,
  owner: Parameters<TaskStore["list"]>[0],
  { before = null, limit = 99, now = noon }: { before?: string | null; limit?: number; now?: number } = {},
): Promise<string> {
  const tasks = await store.list(owner, before, limit, now);
  return tasks.map(({ id }) => id.replace("task-", "")).join("");
}

export const listCases = storeCases("list", {
  "a principal's tasks are listed newest first, finished or not": async ({ store }) => {
    await create(store, "bda");
    await store.write(createRunning("c"));
    const outcome = { kind: "error_result", body: "{}" } as const;
    await store.write({ type: "settle", now: noon, id: "task-c", token: "t1", outcome });
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    assert.equal(await listedNames(store, ofAnn), "dcba");
    assert.deepEqual((await store.list(ofAnn, "task-d", 1, noon))[0], await store.get("task-c"));
  },

  "other principals' and other generations' tasks are not listed": async ({ store }) => {
    await create(store, "a");
    await create(store, "b", { principal: "bob" });
    await create(store, "c", { principal: null });
    await create(store, "d", { principal: "" });
    await create(store, "e", { generation: "2025-11-25" });
    await create(store, "f", { principal: null, generation: "2025-11-25" });
    assert.equal(await listedNames(store, ofAnn), "a");
    assert.equal(await listedNames(store, { ...ofAnn, principal: null }), "c");
    assert.equal(await listedNames(store, { ...ofAnn, principal: "" }), "d");
    assert.equal(await listedNames(store, { ...ofAnn, generation: "2025-11-25" }), "e");
    assert.equal(await listedNames(store, { generation: "2025-11-25", principal: null }), "f");
    assert.equal(await listedNames(store, { generation: "sep-1686", principal: "ann" }), "");
  },

  "without a principal, the tasks of all principals are listed": async ({ store }) => {
    await create(store, "bd");
    await create(store, "ac", { principal: null });
    await create(store, "e", { generation: "2025-11-25" });
    const { generation } = ofAnn;
    assert.equal(await listedNames(store, { generation }), "dcba");
    assert.equal(await listedNames(store, { generation }, { before: "task-d", limit: 2 }), "cb");
    await store.write({ type: "cancel", now: noon, id: "task-c" });
    assert.equal(await listedNames(store, { generation }, { now: noon + 60_000, limit: 3 }), "dba");
    await store.write({ type: "delete_expired", now: noon + 60_000, limit: 9 });
    assert.equal(await listedNames(store, { generation }), "dba");
  },

  "with a scope: its tasks, of one principal or of all": async ({ store }) => {
    await create(store, "ae");
    await create(store, "bd", { scope: "s\u0000" });
    await create(store, "c", { scope: "s\u0000", principal: null });
    await create(store, "f", { scope: "s" });
    await create(store, "g", { scope: "s\u0000", generation: "sep-1686" });
    const { generation } = ofAnn;
    assert.equal(await listedNames(store, { ...ofAnn, scope: "s\u0000" }), "db");
    assert.equal(await listedNames(store, { generation, scope: "s\u0000" }), "dcb");
    assert.equal(await listedNames(store, { generation, scope: "s\u0000", principal: null }), "c");
    assert.equal(
      await listedNames(store, { generation, scope: "s\u0000" }, { before: "task-d", limit: 1 }),
      "c",
    );
    await store.write({ type: "cancel", now: noon, id: "task-c" });
    assert.equal(await listedNames(store, { generation, scope: "s\u0000" }, { now: noon + 60_000 }), "db");
    assert.equal(await listedNames(store, { ...ofAnn, scope: "t" }), "");
    assert.equal(await listedNames(store, ofAnn), "fedba");
  },

  "a page continues below the last task, even if that was deleted": async ({ store }) => {
    await create(store, "abcefg");
    assert.equal(await listedNames(store, ofAnn, { limit: 2 }), "gf");
    assert.equal(await listedNames(store, ofAnn, { before: "task-f", limit: 2 }), "ec");
    assert.equal(await listedNames(store, ofAnn, { before: "task-d", limit: 2 }), "cb");
    assert.equal(await listedNames(store, ofAnn, { before: "task-b", limit: 2 }), "a");
    assert.equal(await listedNames(store, ofAnn, { before: "task-a", limit: 2 }), "");
    assert.equal(await listedNames(store, ofAnn, { before: "zzz", limit: 1 }), "g");
    assert.equal(await listedNames(store, ofAnn, { limit: 0 }), "");
  },

  "expired tasks are left out without making pages shorter": async ({ store }) => {
    await create(store, "ad");
    await create(store, "bcef", { expiry: { from: "created", ms: 10 } });
    await create(store, "g", { expiry: { from: "created", ms: null } });
    for (const name of "bcfg") await store.write({ type: "cancel", now: noon, id: `task-${name}` });
    assert.equal(await listedNames(store, ofAnn, { now: noon + 9 }), "gfedcba");
    // An unfinished task has not expired: it still has to be ended.
    assert.equal(await listedNames(store, ofAnn, { now: noon + 10 }), "geda");
    assert.equal(await listedNames(store, ofAnn, { now: noon + 10, limit: 2 }), "ge");
    assert.equal(await listedNames(store, ofAnn, { now: noon + 10, before: "task-e", limit: 2 }), "da");
    assert.equal(await listedNames(store, ofAnn, { now: noon + 10, before: "task-d", limit: 1 }), "a");
  },

  "deleted tasks leave the list, and their ids can be reused": async ({ store }) => {
    await create(store, "ab", { expiry: { from: "created", ms: 10 } });
    await store.write({ type: "cancel", now: noon, id: "task-a" });
    await store.write({ type: "delete_expired", now: noon + 10, limit: 9 });
    assert.equal(await listedNames(store, ofAnn), "b");
    await create(store, "a", { principal: "bob" });
    assert.equal(await listedNames(store, ofAnn), "b");
    assert.equal(await listedNames(store, { ...ofAnn, principal: "bob" }), "a");
  },

  "pages reach each of many tasks exactly once": async ({ store }) => {
    const created = Array.from({ length: 700 }, (_, index) => `task-${String(index).padStart(4, "0")}`);
    await Promise.all(created.map((id) => store.write(createQueued(id.slice(5)))));
    await store.write(createQueued("0350x", { principal: "bob" }));
    const found: string[] = [];
    // A store that starts again after each page would never end.
    for (let before: string | null = null; found.length <= created.length; before = found.at(-1) ?? null) {
      const page: readonly { readonly id: string }[] = await store.list(ofAnn, before, 90, noon);
      found.push(...page.map(({ id }) => id));
      if (page.length < 90) break;
    }
    assert.deepEqual(found, created.reverse());
  },
});
