import assert from "node:assert/strict";
import type { TaskCommand } from "../task/command.ts";
import { assertMembers, ownerCases, storeCases } from "./store-case.ts";
import {
  callTool,
  startTask,
  aHandler,
  createQueued,
  createRunning,
  noon,
  owner,
  changesOf,
  wholeJournal,
} from "./sample-task.ts";

const id = "task-a";

const held = { now: noon + 1, id, token: "t1" } as const;

const retry = { ...held, type: "retry", until: noon + 50, statusMessage: "Attempt 1 of 3 failed" } as const;

const claim = { type: "claim", now: noon + 60, handlers: [aHandler], tokens: ["c1"] } as const;

const pauses = { state: "queued", lane: null, waiting: false, runAfter: noon + 50 } as const;

function step(key: string, error: string | null = null): TaskCommand<"record_step"> {
  return { ...held, type: "record_step", key, value: error === null ? "1" : null, error };
}

function retryStep(key: string, tries: number, until = noon + 30): TaskCommand<"retry_step"> {
  return { ...held, type: "retry_step", key, error: `{"message":"${tries}"}`, tries, until };
}

function ask(key: string): TaskCommand<"open_input"> {
  const input = { key, method: "roots/list", params: "{}" } as const;
  return { ...held, type: "open_input", input, requestHash: "h", deadlineAt: null };
}

export const retryCases = [
  ...storeCases("retry", {
    "a task whose handler threw has no owner and is claimed after a pause": async ({ store }) => {
      await store.write(createRunning("a"));
      const seen = changesOf(store);
      const given = { ...pauses, owner: null, token: null, failures: 1, version: 2 };
      const text = { statusMessage: "Attempt 1 of 3 failed", updatedAt: noon + 1 };
      assertMembers(await store.write(retry), { ok: true, task: { ...given, ...text } });
      assertMembers(await store.get(id), given);
      assert.deepEqual(seen, [{ id, version: 2 }]);
      assert.equal(await store.hasClaimable([aHandler]), false);
      assert.equal(await store.nextSweepAt(noon), noon + 50);
      assertMembers(await store.write({ type: "wake", now: noon + 49, limit: 9 }), { woken: 0 });
      assertMembers(await store.write({ type: "wake", now: noon + 50, limit: 9 }), { woken: 1 });
      assertMembers(await store.write(claim), { tasks: [{ id, attempt: 2, failures: 1, owner }] });
      assertMembers(await store.write({ ...retry, token: "c1" }), { task: { failures: 2 } });
    },

    "the text of an attempt or of its progress ends with the task": async ({ store }) => {
      const outcome = { kind: "error", body: '{"code":-32603,"message":"no"}' } as const;
      const ends: Readonly<Record<string, readonly [TaskCommand<"settle" | "cancel">, string | null]>> = {
        a: [{ ...held, type: "settle", outcome }, null],
        b: [{ ...held, type: "settle", outcome, statusMessage: "no" }, "no"],
        c: [{ now: noon + 1, id, type: "cancel" }, "Cancelled by the caller."],
      };
      for (const [name, [end, text]] of Object.entries(ends)) {
        const of = { ...held, id: `task-${name}` };
        await store.write(createRunning(name));
        await store.write({ ...of, type: "update", changes: { statusMessage: "Attempt 2 of 3" } });
        await store.write({ ...end, id: of.id });
        assertMembers(await store.get(of.id), { statusMessage: text });
      }
    },

    "only the attempt that holds the task can release it": async ({ store }) => {
      await store.write(createRunning("a"));
      assert.deepEqual(await store.write({ ...retry, token: "t0" }), { ok: false, reason: "fenced" });
      await store.write(retry);
      assert.deepEqual(await store.write(retry), { ok: false, reason: "fenced" });
      assert.deepEqual(await store.write(step("k")), { ok: false, reason: "fenced" });
      await store.write({ type: "cancel", now: noon, id });
      assert.deepEqual(await store.write(retry), { ok: false, reason: "finished" });
      assert.deepEqual(await store.write({ ...retry, id: "task-x" }), { ok: false, reason: "unknown" });
    },

    "a retry drops failed entries and nothing else": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(createRunning("b"));
      await store.write({ ...step("failed", "{}"), id: "task-b" });
      await store.write(step("failed", "{}"));
      await store.write(step("done"));
      await store.write(retryStep("again", 1));
      await store.write(ask("given up"));
      await store.write({ ...held, type: "close_wait", key: "given up", error: "{}" });
      await store.write(ask("refused"));
      const refusal = [{ key: "refused", error: "{}" }];
      await store.write({ type: "answer_inputs", now: noon, id, answers: refusal });
      await store.write(ask("open"));
      await store.write({ ...held, type: "sleep", key: "asleep", until: noon + 9 });
      for (const name of ["x", "y", "z"]) await store.write(callTool("a", name));
      for (const name of ["x", "y"]) await store.write(startTask(name));
      const ends = { type: "settle", now: noon, token: "t1" } as const;
      await store.write({ ...ends, id: "task-x", outcome: { kind: "result", body: "{}" } });
      await store.write({ ...ends, id: "task-y", outcome: { kind: "error", body: "{}" } });

      const before = await wholeJournal(store, id);
      assertMembers(await store.write(retry), { task: { openInputs: 1, openWaits: 1, journalled: true } });
      const gone = ["failed", "again", "call-y"];
      const kept = before.filter(({ key }) => !gone.includes(key));
      assert.equal(before.length - kept.length, gone.length);
      assert.deepEqual(await wholeJournal(store, id), kept);
      assertMembers(await wholeJournal(store, "task-b"), [{ key: "failed" }]);

      await store.write({ type: "wake", now: noon + 50, limit: 9 });
      await store.write({ ...startTask("a"), token: "t1" });
      assertMembers(await store.write(step("failed")), { ok: true });
      const again = { ...callTool("a", "y-again"), key: "call-y" };
      assertMembers(await store.write(again), { ok: true, task: { openWaits: 2 } });
      const keys = (await wholeJournal(store, id)).map(({ key }) => key);
      assert.deepEqual(keys, [...kept.map(({ key }) => key), "failed", "call-y"]);
    },

    "an event or answer does not end a retry pause, but a cancel does": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(ask("q"));
      await store.write(retry);
      const answers = [{ key: "q", value: "1" }];
      const answered = await store.write({ type: "answer_inputs", now: noon + 2, id, answers });
      assertMembers(answered, { accepted: ["q"], task: { ...pauses, openInputs: 0 } });
      const cancelled = { lane: "recovered", waiting: false, runAfter: noon + 3, failures: 1 };
      assertMembers(await store.write({ type: "request_cancel", now: noon + 3, id }), { task: cancelled });
    },

    "a task with a cancel request does not pause after a failure, unless it is left to others": async ({
      store,
    }) => {
      const ready = { state: "queued", lane: "recovered", runAfter: noon + 1, cancelRequestedAt: noon };
      const release = { ...held, type: "release", until: noon + 50 } as const;
      for (const [command, is] of [
        [retry, ready],
        [release, pauses],
      ] as const) {
        const task = { ...command, id: `task-${command.type}` };
        await store.write(createRunning(command.type));
        await store.write({ type: "request_cancel", now: noon, id: task.id });
        assertMembers(await store.write<"retry" | "release">(task), { task: is });
      }
    },

    "a task can be released until a time without counting as a failure": async ({ store }) => {
      await store.write({ ...createQueued("a"), forAnyOwner: true });
      await store.write(claim);
      const release = { ...held, token: "c1", type: "release", until: noon + 50 } as const;
      const free = { owner: null, token: null, failures: 0, crashes: 0, attempt: 1 };
      assertMembers(await store.write(release), { task: { ...pauses, ...free } });
      assertMembers(await store.write(claim), { tasks: [] });
      await store.write({ type: "wake", now: noon + 50, limit: 9 });
      assertMembers(await store.write(claim), { tasks: [{ id, attempt: 2 }] });
    },

    "a retry time beyond exact numbers becomes the latest possible time": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(retryStep("k", 1, 1e17));
      assertMembers(await store.journalEntry(id, "k"), { deadlineAt: 8_640_000_000_000_000 });
      assertMembers(await store.write({ ...retry, until: 1e17 }), {
        task: { runAfter: 8_640_000_000_000_000 },
      });
    },
  }),

  ...storeCases("steps", {
    "a step with a retry pending is open, and shows its failures and last error": async ({ store }) => {
      await store.write(createRunning("a"));
      assertMembers(await store.write(retryStep("k", 1)), {
        ok: true,
        task: { journalled: true, version: 2 },
      });
      const entry = {
        key: "k",
        kind: "step",
        method: null,
        request: null,
        requestHash: null,
        value: null,
        error: '{"message":"1"}',
        deadlineAt: noon + 30,
        tries: 1,
        begunAt: null,
        doneAt: null,
        doneVersion: null,
      };
      assert.deepEqual(await store.journalEntry(id, "k"), entry);
      await store.write(retryStep("k", 2, noon + 40));
      const second = { ...entry, error: '{"message":"2"}', deadlineAt: noon + 40, tries: 2 };
      assert.deepEqual(await wholeJournal(store, id), [second]);
      await store.write(step("k"));
      const ended = { value: "1", error: null, deadlineAt: null, doneAt: noon + 1, doneVersion: 4 };
      assert.deepEqual(await wholeJournal(store, id), [{ ...second, ...ended }]);
    },

    "only unfinished steps can be retried": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write(step("k"));
      await store.write(ask("q"));
      for (const key of ["k", "q"]) {
        assert.deepEqual(await store.write(retryStep(key, 1)), { ok: false, reason: "duplicate" });
      }
      await store.write(retryStep("again", 1));
      for (const command of [ask("again"), { ...held, type: "sleep", key: "again", until: noon } as const]) {
        const refused = await store.write<"open_input" | "sleep">(command);
        assert.deepEqual(refused, { ok: false, reason: "duplicate" });
      }
      assertMembers(await wholeJournal(store, id), [{ key: "k" }, { key: "q" }, { key: "again", tries: 1 }]);
    },

    "a handler that only waits for a step's retry is parked until then": async ({ store }) => {
      await store.write(createRunning("a"));
      const rest = { runAfter: noon + 30, open: 0 };
      const rests = { state: "running", waiting: true, runAfter: noon + 30 };
      assertMembers(await store.write({ ...retryStep("k", 1), rest }), { task: rests });
      await store.write({ ...held, type: "release" });
      assertMembers(await store.get(id), { state: "queued", waiting: true, lane: null, runAfter: noon + 30 });
      await store.write({ type: "wake", now: noon + 30, limit: 9 });
      assertMembers(await store.write(claim), { tasks: [{ id, attempt: 2, failures: 0 }] });
      assertMembers(await store.journalEntry(id, "k"), { tries: 1, doneAt: null });
    },
  }),

  ...storeCases("versions", {
    "a task keeps the version of its first attempt": async ({ store }) => {
      await store.write({ ...createQueued("a"), version: 9 });
      assertMembers(await store.get(id), { toolVersion: null });
      const [handler] = claim.handlers;
      await store.write({ ...claim, handlers: [{ ...handler, version: 2 }] });
      assertMembers(await store.get(id), { toolVersion: 2 });
      await store.write({ ...held, token: "c1", type: "release" });
      await store.write({ ...claim, handlers: [{ ...handler, version: 3 }] });
      assertMembers(await store.get(id), { toolVersion: 2, attempt: 2 });
    },

    "so does a task that runs at once, without a claim, or by a tool without a version": async ({
      store,
    }) => {
      await store.write({ ...createRunning("a"), version: 4 });
      assertMembers(await store.get(id), { toolVersion: 4 });
      await store.write(createQueued("b"));
      await store.write({ ...startTask("b"), version: 5 });
      assertMembers(await store.get("task-b"), { toolVersion: 5 });
      await store.write(createRunning("c"));
      await store.write({ ...held, id: "task-c", type: "release" });
      await store.write({ ...startTask("c"), version: 6 });
      assertMembers(await store.get("task-c"), { toolVersion: null, attempt: 2 });
    },
  }),

  ...ownerCases("retry", {
    "a task that one owner released after a failure can run at any owner": async ({ store, join }) => {
      const { store: other, owner: of } = await join();
      await other.write({ ...createRunning("a"), version: 3 });
      await other.write(retryStep("k", 1));
      await other.write(step("done"));
      await other.write(retry);
      assertMembers(await store.write({ type: "wake", now: noon + 50, limit: 9 }), { woken: 1 });
      assert.equal(await store.hasClaimable([aHandler]), true);
      assertMembers(await store.write({ ...claim, handlers: [{ ...aHandler, version: 4 }] }), {
        tasks: [{ id, owner, failures: 1, toolVersion: 3, attempt: 2 }],
      });
      assertMembers(await wholeJournal(store, id), [{ key: "done" }]);
      assert.deepEqual(await other.write(retry), { ok: false, reason: "fenced" });
      assert.notEqual(of, owner);
    },
  }),
];
