import assert from "node:assert/strict";
import type { TaskCommand, CommandResult } from "../task/command.ts";
import { assertMembers, ownerCases, storeCases } from "./store-case.ts";
import {
  callTool,
  settleAs,
  startTask,
  aHandler,
  createQueued,
  createRunning,
  noon,
  owner,
  listedJournal,
  wholeJournal,
  changesOf,
} from "./sample-task.ts";
import type { TaskStore, TaskLogs } from "../store/store.ts";
import type { LineList, TaskLine } from "../task/task-line.ts";
import type { NodeReports } from "../store/admin-store.ts";

const taskA = "task-a";

const held = { now: noon + 1, id: taskA, token: "t1" } as const;

const firstAttempt = { number: 1, owner, startedAt: noon, endedAt: null, end: null } as const;

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
    "a record has its task's attempts, their owners and how they ended": async ({ store }) => {
      await store.write(createQueued("a"));
      assertMembers(await store.get(taskA), { attempts: [] });
      await store.write(claim);
      const begun = { ...firstAttempt, startedAt: noon + 2 };
      assertMembers(await store.get(taskA), { attempts: [begun] });
      await store.write({ ...retry, now: noon + 3 });
      const retried = { ...begun, endedAt: noon + 3, end: "retried", error: retry.statusMessage };
      assertMembers(await store.get(taskA), { attempts: [retried] });
      await store.write({ ...wake, now: noon + 4 });
      await store.write({ ...claim, now: noon + 5 });
      const released = { ...held, type: "release", now: noon + 6 } as const;
      const second = { ...firstAttempt, number: 2, startedAt: noon + 5, endedAt: noon + 6, end: "released" };
      assertMembers(await store.write(released), { task: { attempts: [retried, second] } });
      await store.write({ ...claim, now: noon + 7 });
      await store.write(settleAs("a"));
      const third = { ...firstAttempt, number: 3, startedAt: noon + 7, endedAt: noon + 9, end: "settled" };
      assertMembers(await store.get(taskA), { attempts: [retried, second, third] });
      assertMembers(await store.snapshot(taskA), { task: { attempts: [retried, second, third] } });
      assertMembers(await store.list({ generation: "2026-07-28" }, null, 9, noon), [
        { attempts: [retried, second, third] },
      ]);
    },

    "the last attempt that threw has a stack": async ({ store }) => {
      const stack = "Error: \u0000 é\n    at send (send.ts:4:11)";
      await store.write(createRunning("a"));
      const threw = { ...firstAttempt, endedAt: noon + 1, end: "retried", error: retry.statusMessage };
      await store.write({ ...retry, stack });
      assertMembers(await store.get(taskA), { attempts: [{ ...threw, stack }] });
      await store.write(wake);
      await store.write(claim);
      const outcome = { kind: "error_result", body: "{}" } as const;
      await store.write({ ...held, type: "settle", now: noon + 3, outcome, stack: "Error: no" });
      const failed = { number: 2, owner, startedAt: noon + 2, endedAt: noon + 3, end: "failed" };
      const task = await store.get(taskA);
      assert.deepEqual(task?.attempts, [threw, { ...failed, stack: "Error: no" }]);
    },

    "a task that runs at once has its first attempt": async ({ store }) => {
      assertMembers(await store.write(createRunning("a")), { task: { attempts: [firstAttempt] } });
      assertMembers(await store.get(taskA), { attempts: [firstAttempt] });
      await store.write(step);
      assertMembers(await store.get(taskA), { attempts: [firstAttempt] });
      await store.write({ type: "cancel", now: noon + 2, id: taskA });
      assertMembers(await store.get(taskA), {
        attempts: [{ ...firstAttempt, endedAt: noon + 2, end: "cancelled" }],
      });
    },

    "the first attempt and the last nine are kept": async ({ store }) => {
      await store.write(createRunning("a"));
      for (let n = 1; n <= 12; n++) {
        await store.write(n === 5 ? retry : { ...held, type: "release" });
        await store.write(wake);
        await store.write(claim);
      }
      const attempts = (await store.get(taskA))?.attempts ?? [];
      const numbers = attempts.map(({ number }) => number);
      assert.deepEqual(numbers, [1, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
      assert.deepEqual(attempts[1], {
        ...firstAttempt,
        number: 5,
        startedAt: noon + 2,
        endedAt: noon + 1,
        end: "retried",
        error: retry.statusMessage,
      });
    },
  }),

  ...ownerCases("attempts", {
    "an attempt of a dead process is lost, and the next one belongs to another": async ({
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
      assertMembers(await store.get(taskA), {
        attempts: [
          { ...firstAttempt, owner: gone, endedAt: noon + 1, end: "lost", error },
          { ...firstAttempt, number: 2, startedAt: noon + 2 },
        ],
      });
    },
  }),

  ...storeCases("begun", {
    "entries keep the times of their start and their end": async ({ store }) => {
      await store.write(createRunning("a"));
      for (const command of opened("first"))
        await store.write<"open_input" | "sleep" | "wait_event">(command);
      await store.write(callTool("a", "b"));
      const begunAt = Array.from({ length: 4 }, () => ({ begunAt: noon + 1, doneAt: null }));
      assertMembers(await wholeJournal(store, taskA), begunAt);
      assertMembers(await listedJournal(store, taskA), begunAt);
      await store.write({ ...held, now: noon + 5, type: "end_sleep", key: "first-sleep" });
      const answers = [{ key: "first-input", value: "{}" }];
      await store.write({ type: "answer_inputs", now: noon + 6, id: taskA, answers });
      const event = { name: "paid", value: "1", dedupeId: null, limit: 9 };
      await store.write({ type: "send_event", now: noon + 7, id: taskA, ...event });
      await store.write(startTask("b"));
      await store.write(settleAs("b"));
      const done = [noon + 6, noon + 5, noon + 7, noon + 9].map((doneAt) => ({ begunAt: noon + 1, doneAt }));
      assertMembers(await listedJournal(store, taskA), done);
      // An earlier event ends the wait as it begins.
      await store.write({ type: "send_event", now: noon + 8, id: taskA, ...event });
      const wait = { ...held, type: "wait_event", name: "paid", requestHash: "h", deadlineAt: null } as const;
      await store.write({ ...wait, now: noon + 9, key: "kept" });
      assertMembers(await store.journalEntry(taskA, "kept"), { begunAt: noon + 9, doneAt: noon + 9 });
    },

    "a step records when its function was first called, however it ends": async ({ store }) => {
      await store.write(createRunning("a"));
      await store.write({ ...step, begunAt: noon - 5 });
      assertMembers(await store.journalEntry(taskA, "k"), { begunAt: noon - 5, doneAt: noon + 1 });
      const fails = { ...held, type: "retry_step", key: "again", error: "{}", until: noon + 9 } as const;
      await store.write({ ...fails, tries: 1, begunAt: noon - 3 });
      assertMembers(await store.journalEntry(taskA, "again"), { begunAt: noon - 3, doneAt: null });
      await store.write({ ...fails, tries: 2, begunAt: noon + 1 });
      await store.write({ ...step, key: "again", begunAt: noon + 1 });
      assertMembers(await store.journalEntry(taskA, "again"), {
        begunAt: noon - 3,
        tries: 2,
        doneAt: noon + 1,
      });
      await store.write({ ...step, key: "silent" });
      const begun = [noon - 5, noon - 3, null].map((begunAt) => ({ begunAt }));
      assertMembers(await listedJournal(store, taskA), begun);
    },
  }),
];

function line(list: LineList, seq: number, body = `{"n":${seq}}`): TaskLine {
  return { list, seq, at: noon + seq, step: seq % 2 === 0 ? "step" : "", place: seq - 1, body };
}

function append(
  store: TaskStore,
  lines: readonly TaskLine[],
  forget: readonly number[] = [],
  token = "t1",
): Promise<CommandResult<"append">> {
  return store.write({ type: "append", now: noon + 1, id: taskA, token, lines, forget });
}

const read = (
  { logs }: { readonly logs: TaskLogs },
  list: LineList,
  after = 0,
  limit = 99,
): Promise<readonly TaskLine[]> => logs.read(taskA, list, after, limit);

export const lineCases = storeCases("lines", {
  "log and output lines are stored separately, numbered and counted in the record": async ({ store }) => {
    await store.write(createRunning("a"));
    const seen = changesOf(store);
    const [one, two, three] = [line("log", 1), line("output", 1, '{ "n":1.0 }'), line("log", 2)];
    assertMembers(await append(store, [one, two, three]), {
      ok: true,
      task: { logged: 2, outputs: 1, version: 2, state: "running" },
    });
    assert.deepEqual(seen, [{ id: taskA, version: 2 }]);
    assert.deepEqual(await read(store, "log"), [one, three]);
    assert.deepEqual(await read(store, "output"), [two]);
    assertMembers(await append(store, [line("output", 2)]), { task: { logged: 2, outputs: 2 } });
    assert.deepEqual(await read(store, "output", 1), [line("output", 2)]);
  },
  "a page starts after a number and has at most its limit of lines": async ({ store }) => {
    await store.write(createRunning("a"));
    const lines = Array.from({ length: 12 }, (_, index) => line("log", index + 1));
    await append(store, lines);
    assert.deepEqual(await read(store, "log", 0, 3), lines.slice(0, 3));
    assert.deepEqual(await read(store, "log", 9, 2), lines.slice(9, 11));
    assert.deepEqual(await read(store, "log", 12), []);
  },
  "old log lines are dropped, but no output lines": async ({ store }) => {
    await store.write(createRunning("a"));
    await append(store, [
      line("log", 1),
      line("log", 2),
      line("log", 3),
      line("output", 1),
      line("output", 2),
    ]);
    assertMembers(await append(store, [line("log", 4)], [1, 3, 9]), { task: { logged: 4, outputs: 2 } });
    assert.deepEqual(await read(store, "log"), [line("log", 2), line("log", 4)]);
    assert.deepEqual(await read(store, "output"), [line("output", 1), line("output", 2)]);
  },
  "a line that is appended twice with the same number is stored once": async ({ store }) => {
    await store.write(createRunning("a"));
    await Promise.all([append(store, [line("log", 1)]), append(store, [line("log", 1), line("log", 2)])]);
    assertMembers(await store.get(taskA), { logged: 2 });
    assert.deepEqual(await read(store, "log"), [line("log", 1), line("log", 2)]);
  },
  "a line can be any text": async ({ store }) => {
    await store.write(createRunning("a"));
    const odd = { ...line("log", 1), step: "\ud800 \u0000", body: '"\ud83d \u0000 \\u0000 \ufffe"' };
    await append(store, [odd]);
    assert.deepEqual(await read(store, "log"), [odd]);
  },
  "only the attempt that holds the task appends": async ({ store }) => {
    await store.write(createRunning("a"));
    assert.deepEqual(await append(store, [line("log", 1)], [], "t2"), { ok: false, reason: "fenced" });
    await store.write(createQueued("b"));
    assert.deepEqual(await read(store, "log"), []);
    assertMembers(await store.get(taskA), { logged: 0, version: 1 });
  },
  "lines are kept after their task ends, and deleted with it": async ({ store }) => {
    await store.write(createRunning("a"));
    await append(store, [line("log", 1), line("output", 1)]);
    const outcome = { kind: "result", body: "{}" } as const;
    await store.write({ type: "settle", now: noon + 2, id: taskA, token: "t1", outcome });
    assert.deepEqual(await append(store, [line("log", 2)]), { ok: false, reason: "finished" });
    assert.deepEqual(await read(store, "log"), [line("log", 1)]);
    await store.write({ type: "delete", now: noon + 3, id: taskA });
    assert.deepEqual([await read(store, "log"), await read(store, "output")], [[], []]);
    await store.write(createRunning("a"));
    assert.deepEqual(await read(store, "log"), []);
  },
});

/** The reports of all minutes, as `owner minute body`, in the order in which they are read. */
async function said(reports: NodeReports, first = 0, last = 1_000, limit = 99): Promise<readonly string[]> {
  const found = await reports.between(first, last, limit);
  return found.map(({ owner: reporter, minute, body }) => `${reporter} ${minute} ${body}`);
}

export const reportCases = [
  ...storeCases("reports", {
    "an owner's last report of each minute is kept, and listed newest first": async ({ store }) => {
      const { reports } = store;
      assert.deepEqual(await said(reports), []);
      await reports.write({ minute: 100, body: '"a"' }, 0);
      await reports.write({ minute: 102, body: '"c \\u0000\ud83d\ude00"' }, 0);
      await reports.write({ minute: 101, body: '"b"' }, 0);
      await reports.write({ minute: 101, body: '"b2"' }, 0);
      const all = ['owner-1 102 "c \\u0000\ud83d\ude00"', 'owner-1 101 "b2"', 'owner-1 100 "a"'];
      assert.deepEqual(await said(reports), all);
      assert.deepEqual(await said(reports, 100, 101), all.slice(1));
      assert.deepEqual(await said(reports, 100, 101, 1), all.slice(1, 2));
      assert.deepEqual(await said(reports, 103, 200), []);
    },
    "reports from before the oldest kept minute are dropped": async ({ store }) => {
      const { reports } = store;
      for (const minute of [100, 101, 102]) await reports.write({ minute, body: "{}" }, 0);
      await reports.write({ minute: 103, body: "{}" }, 102);
      assert.deepEqual(await said(reports), ["owner-1 103 {}", "owner-1 102 {}"]);
    },
    "living owners are listed with their number of running tasks": async ({ store }) => {
      const { reports } = store;
      assert.deepEqual(await reports.owners(99), [{ id: "owner-1", running: 0, drainUntil: null }]);
      await store.write(createQueued("a"));
      for (const name of ["b", "c", "d"]) await store.write(createRunning(name));
      assert.deepEqual(await reports.owners(99), [{ id: "owner-1", running: 3, drainUntil: null }]);
      const rest = { reason: "sleep", runAfter: noon + 9, open: 0 } as const;
      await store.write({ type: "mark", now: noon, id: "task-b", token: "t1", rest });
      assert.deepEqual(await reports.owners(99), [{ id: "owner-1", running: 2, drainUntil: null }]);
      assertMembers(await store.get("task-b"), { waiting: true, waitsFor: "sleep" });
      const [reporter] = await reports.owners(1);
      assert.ok((reporter?.running ?? 9) <= 1);
    },
  }),
  ...ownerCases("reports", {
    "owners publish reports independently, and all can read them": async ({ store, join }) => {
      const { reports } = store;
      const other = await join();
      await reports.write({ minute: 100, body: '"a"' }, 0);
      await other.store.reports.write({ minute: 100, body: '"b"' }, 0);
      const both = ['owner-1 100 "a"', `${other.owner} 100 "b"`].toSorted();
      assert.deepEqual((await said(reports)).toSorted(), both);
      assert.deepEqual((await said(other.store.reports)).toSorted(), both);
    },
    "a dead owner is not alive, but its reports are kept": async ({ store, join, kill }) => {
      const { reports } = store;
      const other = await join();
      await other.store.reports.write({ minute: 100, body: "{}" }, 0);
      await other.store.write(createRunning("b"));
      const ids = async (): Promise<readonly string[]> =>
        (await reports.owners(99)).map(({ id, running }) => `${id} ${running}`).toSorted();
      assert.deepEqual(await ids(), ["owner-1 0", `${other.owner} 1`].toSorted());
      await kill(other.owner);
      assert.deepEqual(await ids(), ["owner-1 0"]);
      assert.deepEqual(await said(reports), [`${other.owner} 100 {}`]);
    },
    "an owner that is drained learns of it when it renews its lease, and the others see it": async ({
      store,
      join,
    }) => {
      const other = await join();
      const drain = (until: number | null) =>
        store.write({ type: "drain_owner", now: noon, owner: other.owner, until });
      const seen = async (): Promise<readonly string[]> =>
        (await store.reports.owners(99)).map(({ id, drainUntil }) => `${id} ${drainUntil}`).toSorted();
      await drain(noon + 5);
      assert.equal((await other.store.renew()).drainUntil, noon + 5);
      assert.equal((await store.renew()).drainUntil, undefined);
      assert.deepEqual(await seen(), ["owner-1 null", `${other.owner} ${noon + 5}`].toSorted());
      await drain(null);
      assert.equal((await other.store.renew()).drainUntil, undefined);
      assert.deepEqual(await seen(), ["owner-1 null", `${other.owner} null`].toSorted());
      await store.write({ type: "drain_owner", now: noon, owner: "gone", until: noon });
    },
  }),
];
