import assert from "node:assert/strict";
import type { TaskCommand } from "../task/command.ts";
import { assertMembers } from "./assert-members.ts";
import { callTool, settleAs, startTask } from "./sample-call.ts";
import { aHandler, createQueued, createRunning, noon, owner } from "./sample-task.ts";
import { ownerCases, storeCases } from "./store-case.ts";
import { listedJournal, wholeJournal } from "./whole-journal.ts";

const id = "task-a";
const held = { now: noon + 1, id, token: "t1" } as const;
const first = { number: 1, owner, startedAt: noon, endedAt: null, end: null } as const;
const retry = { ...held, type: "retry", until: noon, statusMessage: "Attempt 1 of 3 failed: é" } as const;
const wake = { type: "wake", now: noon + 1, limit: 9 } as const;
const claim = { type: "claim", now: noon + 2, handlers: [aHandler], tokens: ["t1"] } as const;
const step = { ...held, type: "record_step", key: "k", value: "1", error: null } as const;

function opened(key: string): readonly TaskCommand<"open_input" | "sleep" | "wait_event">[] {
  const input = { key: `${key}-input`, method: "roots/list", params: "{}" } as const;
  return [
    { ...held, type: "open_input", input, requestHash: "h", deadlineAt: null },
    { ...held, type: "sleep", key: `${key}-sleep`, until: noon + 9 },
    { ...held, type: "wait_event", key: `${key}-event`, name: "paid", requestHash: "h", deadlineAt: null },
  ];
}

export const historyCases = [
  ...storeCases("attempts", {
    "a record has the attempts of its task, who ran them, and how they ended": async ({ store }) => {
      await store.write(createQueued("a"));
      assertMembers(await store.get(id), { attempts: [] });
      await store.write(claim);
      const begun = { ...first, startedAt: noon + 2 };
      assertMembers(await store.get(id), { attempts: [begun] });
      await store.write({ ...retry, now: noon + 3 });
      const retried = { ...begun, endedAt: noon + 3, end: "retried", error: retry.statusMessage };
      assertMembers(await store.get(id), { attempts: [retried] });
      await store.write({ ...wake, now: noon + 4 });
      await store.write({ ...claim, now: noon + 5 });
      const released = { ...held, type: "release", now: noon + 6 } as const;
      const second = { ...first, number: 2, startedAt: noon + 5, endedAt: noon + 6, end: "released" };
      assertMembers(await store.write(released), { task: { attempts: [retried, second] } });
      await store.write({ ...claim, now: noon + 7 });
      await store.write(settleAs("a"));
      const third = { ...first, number: 3, startedAt: noon + 7, endedAt: noon + 9, end: "settled" };
      assertMembers(await store.get(id), { attempts: [retried, second, third] });
      assertMembers(await store.snapshot(id), { task: { attempts: [retried, second, third] } });
      assertMembers(await store.list({ generation: "2026-07-28" }, null, 9, noon), [
        { attempts: [retried, second, third] },
      ]);
    },

    "the last attempt that threw says where": async ({ store }) => {
      const stack = "Error: \u0000 é\n    at send (send.ts:4:11)";
      await store.write(createRunning("a"));
      const threw = { ...first, endedAt: noon + 1, end: "retried", error: retry.statusMessage };
      await store.write({ ...retry, stack });
      assertMembers(await store.get(id), { attempts: [{ ...threw, stack }] });
      await store.write(wake);
      await store.write(claim);
      const outcome = { kind: "error_result", body: "{}" } as const;
      await store.write({ ...held, type: "settle", now: noon + 3, outcome, stack: "Error: no" });
      const failed = { number: 2, owner, startedAt: noon + 2, endedAt: noon + 3, end: "failed" };
      const task = await store.get(id);
      assert.deepEqual(task?.attempts, [threw, { ...failed, stack: "Error: no" }]);
    },

    "a task that runs at once has its first": async ({ store }) => {
      assertMembers(await store.write(createRunning("a")), { task: { attempts: [first] } });
      assertMembers(await store.get(id), { attempts: [first] });
      await store.write(step);
      assertMembers(await store.get(id), { attempts: [first] });
      await store.write({ type: "cancel", now: noon + 2, id });
      assertMembers(await store.get(id), { attempts: [{ ...first, endedAt: noon + 2, end: "cancelled" }] });
    },

    "the first and the last nine of them stay": async ({ store }) => {
      await store.write(createRunning("a"));
      for (let n = 1; n <= 12; n++) {
        await store.write(n === 5 ? retry : { ...held, type: "release" });
        await store.write(wake);
        await store.write(claim);
      }
      const attempts = (await store.get(id))?.attempts ?? [];
      const numbers = attempts.map(({ number }) => number);
      assert.deepEqual(numbers, [1, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
      assert.deepEqual(attempts[1], {
        ...first,
        number: 5,
        startedAt: noon + 2,
        endedAt: noon + 1,
        end: "retried",
        error: retry.statusMessage,
      });
    },
  }),

  ...ownerCases("attempts", {
    "an attempt whose process is gone was lost, and the next one is of another": async ({
      store,
      join,
      kill,
    }) => {
      const { store: other, owner: gone } = await join();
      await other.write(createRunning("a"));
      await kill(gone);
      const backoff = { baseMs: 0, maxMs: 0, maxCrashes: 9 };
      await store.write({ type: "reclaim", now: noon + 1, owner: gone, after: "", limit: 9, backoff });
      await store.write(claim);
      const error = "The process that ran it is gone.";
      assertMembers(await store.get(id), {
        attempts: [
          { ...first, owner: gone, endedAt: noon + 1, end: "lost", error },
          { ...first, number: 2, startedAt: noon + 2 },
        ],
      });
    },
  }),

  ...storeCases("begun", {
    "what is opened in a journal says when, and still does when it has ended": async ({ store }) => {
      await store.write(createRunning("a"));
      for (const command of opened("first"))
        await store.write<"open_input" | "sleep" | "wait_event">(command);
      await store.write(callTool("a", "b"));
      const begunAt = Array.from({ length: 4 }, () => ({ begunAt: noon + 1, doneAt: null }));
      assertMembers(await wholeJournal(store, id), begunAt);
      assertMembers(await listedJournal(store, id), begunAt);
      await store.write({ ...held, now: noon + 5, type: "end_sleep", key: "first-sleep" });
      const answers = [{ key: "first-input", value: "{}" }];
      await store.write({ type: "answer_inputs", now: noon + 6, id, answers });
      const event = { name: "paid", value: "1", dedupeId: null, limit: 9 };
      await store.write({ type: "send_event", now: noon + 7, id, ...event });
      await store.write(startTask("b"));
      await store.write(settleAs("b"));
      const done = [noon + 6, noon + 5, noon + 7, noon + 9].map((doneAt) => ({ begunAt: noon + 1, doneAt }));
      assertMembers(await listedJournal(store, id), done);
      // An earlier event ends the wait as it begins.
      await store.write({ type: "send_event", now: noon + 8, id, ...event });
      const wait = { ...held, type: "wait_event", name: "paid", requestHash: "h", deadlineAt: null } as const;
      await store.write({ ...wait, now: noon + 9, key: "kept" });
      assertMembers(await store.journalEntry(id, "kept"), { begunAt: noon + 9, doneAt: noon + 9 });
    },

    "a step says when its function was first called, whatever comes of it": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write({ ...step, begunAt: noon - 5 });
      assertMembers(await store.journalEntry(id, "k"), { begunAt: noon - 5, doneAt: noon + 1 });
      const fails = { ...held, type: "retry_step", key: "again", error: "{}", until: noon + 9 } as const;
      await store.write({ ...fails, tries: 1, begunAt: noon - 3 });
      assertMembers(await store.journalEntry(id, "again"), { begunAt: noon - 3, doneAt: null });
      await store.write({ ...fails, tries: 2, begunAt: noon + 1 });
      await store.write({ ...step, key: "again", begunAt: noon + 1 });
      assertMembers(await store.journalEntry(id, "again"), { begunAt: noon - 3, tries: 2, doneAt: noon + 1 });
      await store.write({ ...step, key: "silent" });
      const begun = [noon - 5, noon - 3, null].map((begunAt) => ({ begunAt }));
      assertMembers(await listedJournal(store, id), begun);
    },
  }),
];
