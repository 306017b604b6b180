import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { InputRequest } from "../task/journal.ts";
import type { TaskCommand } from "../task/command.ts";
import { assertMembers, storeCases } from "./store-case.ts";
import { createRunning, noon, listedJournal, wholeJournal } from "./sample-task.ts";

const id = "task-a";

function step(key: string, value: string | null = "1", token = "t1"): TaskCommand<"record_step"> {
  return { type: "record_step", now: noon + 1, id, token, key, value, error: null };
}

function input(key: string): InputRequest {
  return { key, method: "elicitation/create", params: `{"message":"${key}?"}` };
}

function ask(question: InputRequest): TaskCommand<"open_input"> {
  const held = { now: noon + 2, id, token: "t1" };
  return { type: "open_input", ...held, input: question, requestHash: "h", deadlineAt: null };
}

function endSleep(key: string, token = "t1"): TaskCommand<"end_sleep"> {
  return { type: "end_sleep", now: noon + 5, id, token, key };
}

function giveUp(key: string): TaskCommand<"close_wait"> {
  return { type: "close_wait", now: noon + 4, id, token: "t1", key, error: "{}" };
}

function answer(...keys: string[]): TaskCommand<"answer_inputs"> {
  const answers = keys.map((key) => ({ key, value: `{"answered":"${key}"}` }));
  return { type: "answer_inputs", now: noon + 3, id, answers };
}

export const journalCases = storeCases("journal", {
  "a key may have 2,000 bytes, however little they can be compressed": async ({ store }) => {
    const key = randomBytes(1_000).toString("hex");
    await store.write(createRunning("a"));
    await store.write(step(key));
    assertMembers(await store.journalEntry(id, key), { value: "1" });
  },

  "entries are read in the order of their first writes": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(step("z"));
    await store.write(ask(input("m")));
    await store.write(step("a", null));
    await store.write(answer("m"));
    const entries = (await wholeJournal(store, id)).map(({ key, kind }) => [key, kind]);
    assert.deepEqual(entries, [
      ["z", "step"],
      ["m", "input"],
      ["a", "step"],
    ]);
    assert.deepEqual(await store.journalEntry(id, "m"), {
      key: "m",
      kind: "input",
      method: "elicitation/create",
      request: '{"message":"m?"}',
      requestHash: "h",
      value: '{"answered":"m"}',
      error: null,
      deadlineAt: null,
      tries: 0,
      begunAt: noon + 2,
      doneAt: noon + 3,
      doneVersion: 5,
    });
    assert.equal(await store.journalEntry(id, "x"), undefined);
  },

  "pages show each entry once, up to the limit, in the order of first writes": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(createRunning("b"));
    await store.write({ ...step("other"), id: "task-b" });
    for (const key of ["z", "", "m", "é"]) await store.write(ask(input(key)));
    await store.write(step("a"));
    await store.write(answer("m"));
    const keys = ["z", "", "m", "é", "a"];
    for (const limit of [1, 2, 5, 9]) {
      assert.deepEqual(
        (await listedJournal(store, id, limit)).map(({ key }) => key),
        keys,
      );
      const { entries, next } = await store.journal(id, "", limit);
      assert.ok(entries.length > 0 && entries.length <= limit, `${entries.length} of ${limit}`);
      assert.ok(limit >= 5 || next !== null, "a page that leaves out entries is not the last");
    }
    assert.deepEqual(await store.journal("task-x", "", 9), { entries: [], next: null });
  },

  "pages show entries without their texts, but with their size": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(ask(input("m")));
    await store.write({ ...step("k"), value: null, error: '{"message":"é"}' });
    await store.write(answer("m"));
    const listed = await listedJournal(store, id);
    const [question, failed] = listed.map(({ place: _, bytes: __, ...entry }) => entry);
    // A store may keep texts in a longer form, but never in a shorter one.
    const [sizeOfQuestion = 0, sizeOfFailed = 0] = listed.map(({ bytes }) => bytes);
    assert.ok(sizeOfQuestion >= Buffer.byteLength('{"message":"m?"}{"answered":"m"}'));
    assert.ok(sizeOfFailed >= Buffer.byteLength('{"message":"é"}'));
    assert.deepEqual(question, {
      key: "m",
      kind: "input",
      method: "elicitation/create",
      requestHash: "h",
      deadlineAt: null,
      tries: 0,
      begunAt: noon + 2,
      doneAt: noon + 3,
      doneVersion: 4,
    });
    const rest = { method: null, requestHash: null, deadlineAt: null, tries: 0, begunAt: null };
    assert.deepEqual(failed, {
      key: "k",
      kind: "step",
      ...rest,
      doneAt: noon + 1,
      doneVersion: 3,
    });
  },

  "results of entries are read by key": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(step("k", '{"a": 1}'));
    await store.write(step("nothing", null));
    await store.write({ ...step("failed"), value: null, error: "{}" });
    await store.write(ask(input("open")));
    const keys = ["open", "unknown", "failed", "k", "nothing"];
    const ends = await store.journalEnds(id, keys);
    assert.deepEqual(
      [...ends].sort((a, b) => (a.key < b.key ? -1 : 1)),
      [
        { key: "failed", value: null, error: "{}" },
        { key: "k", value: '{"a": 1}', error: null },
        { key: "nothing", value: null, error: null },
        { key: "open", value: null, error: null },
      ],
    );
    assert.deepEqual(await store.journalEnds(id, []), []);
    assert.deepEqual(await store.journalEnds("task-x", ["k"]), []);
  },

  "a step is recorded once, and the first value stays": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(step("k", "1"));
    assert.deepEqual(await store.write(step("k", "2")), { ok: false, reason: "duplicate" });
    assertMembers(await store.journalEntry(id, "k"), { value: "1" });
  },

  "of two concurrent records with the same key, one wins": async ({ store }) => {
    await store.write(createRunning("a"));
    const results = await Promise.all([store.write(step("k", "1")), store.write(step("k", "2"))]);
    assert.deepEqual(
      results.map(({ ok }) => ok),
      [true, false],
    );
    assertMembers(await wholeJournal(store, id), [{ key: "k", value: "1" }]);
  },

  "a stale token writes nothing": async ({ store }) => {
    await store.write(createRunning("a"));
    assert.deepEqual(await store.write(step("k", "1", "t0")), { ok: false, reason: "fenced" });
    assert.deepEqual(await wholeJournal(store, id), []);
    assertMembers(await store.get(id), { version: 1 });
  },

  "the same key in two tasks makes two entries": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(createRunning("b"));
    await store.write(step("k", "1"));
    assertMembers(await store.write({ ...step("k", "2"), id: "task-b" }), { ok: true });
    assertMembers(await store.journalEntry(id, "k"), { value: "1" });
    assertMembers(await store.journalEntry("task-b", "k"), { value: "2" });
  },

  "a snapshot shows open inputs in the order in which they were asked": async ({ store }) => {
    await store.write(createRunning("a"));
    for (const key of ["z", "m", "a"]) await store.write(ask(input(key)));
    await store.write(step("k"));
    await store.write(answer("m"));
    const snapshot = await store.snapshot(id);
    assert.deepEqual(snapshot?.inputs, [input("z"), input("a")]);
    assert.equal(snapshot?.task.openInputs, 2);
  },

  "answers to closed questions are ignored and change nothing": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(ask(input("m")));
    const first = await store.write(answer("m", "x", "m"));
    assertMembers(first, { ok: true, accepted: ["m"], task: { openInputs: 0 } });
    const before = await store.get(id);
    assert.deepEqual(await store.write(answer("m")), { ok: true, accepted: [], task: before });
    assert.deepEqual(await store.get(id), before);
  },

  "an answer can be an error, and closes its question": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(ask(input("m")));
    await store.write(ask(input("n")));
    const error = '{ "code":-1, "message":"no" }';
    const answers = [
      { key: "m", error },
      { key: "n", value: "1" },
      { key: "m", value: "2" },
    ];
    const taken = await store.write({ type: "answer_inputs", now: noon + 3, id, answers });
    assertMembers(taken, { accepted: ["m", "n"], task: { openInputs: 0 } });
    assertMembers(await store.journalEntry(id, "m"), { value: null, error, doneAt: noon + 3 });
    assertMembers(await store.journalEntry(id, "n"), { value: "1", error: null });
  },

  "entries written before the handler do not mark the handler's own journal as started": async ({
    store,
  }) => {
    await store.write(createRunning("a"));
    await store.write(ask(input("m")));
    assertMembers(await store.get(id), { journalled: true });
    await store.write(answer("m"));
    const before = await store.write({ ...step("p"), beforeHandler: true });
    assertMembers(before, { ok: true, task: { journalled: false, waiting: false } });
    assertMembers(await store.journalEntry(id, "p"), { kind: "step", value: "1" });
    assertMembers(await store.write(step("k")), { ok: true, task: { journalled: true } });
  },

  "nor does a wait before it": async ({ store }) => {
    await store.write(createRunning("a"));
    const rest = { reason: "limit", runAfter: noon + 9, open: 0 } as const;
    const mark = { type: "mark", now: noon, id, token: "t1" } as const;
    assertMembers(await store.write({ ...mark, rest }), { task: { journalled: true, waitsFor: "limit" } });
    assertMembers(await store.write({ ...mark, beforeHandler: true }), {
      ok: true,
      task: { journalled: false, waiting: false, waitsFor: null },
    });
  },

  "a finished task shows no open inputs; its journal keeps the question": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(ask(input("m")));
    await store.write({ type: "cancel", now: noon + 9, id });
    assertMembers(await store.snapshot(id), { inputs: [], task: { openInputs: 0 } });
    assertMembers(await store.journalEntry(id, "m"), { doneAt: null });
  },

  "an input needs no params": async ({ store }) => {
    await store.write(createRunning("a"));
    const roots: InputRequest = { key: "r", method: "roots/list", params: "{}" };
    await store.write(ask(roots));
    assert.deepEqual((await store.snapshot(id))?.inputs, [roots]);
  },

  "a question that was given up is closed, and later answers are refused": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write(ask(input("m")));
    assertMembers(await store.write(giveUp("m")), { ok: true, task: { openInputs: 0 } });
    assertMembers(await store.snapshot(id), { inputs: [] });
    assertMembers(await store.journalEntry(id, "m"), { value: null, error: "{}", doneAt: noon + 4 });
    assertMembers(await store.write(answer("m")), { accepted: [] });
    assert.deepEqual(await store.write(giveUp("m")), { ok: false, reason: "state" });
  },

  "an answer is accepted before the question's deadline, but not at it": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ ...ask(input("m")), deadlineAt: noon + 3 });
    await store.write({ ...ask(input("n")), deadlineAt: noon + 4 });
    assertMembers(await store.write(answer("m", "n")), { accepted: ["n"], task: { openInputs: 1 } });
    assertMembers(await store.journalEntry(id, "m"), { value: null, deadlineAt: noon + 3, doneAt: null });
  },

  "a sleep keeps its first deadline": async ({ store }) => {
    await store.write(createRunning("a"));
    const sleep = { type: "sleep", now: noon, id, token: "t1", key: "s" } as const;
    assertMembers(await store.write({ ...sleep, until: noon + 50 }), { ok: true, task: { waiting: false } });
    const again = await store.write({ ...sleep, until: noon + 90 });
    assert.deepEqual(again, { ok: false, reason: "duplicate" });
    const entry = {
      key: "s",
      kind: "sleep",
      deadlineAt: noon + 50,
      doneAt: null,
      doneVersion: null,
    } as const;
    assertMembers(await wholeJournal(store, id), [entry]);
  },

  "a sleep ends once, and only for the attempt that holds the task": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "sleep", now: noon, id, token: "t1", key: "s", until: noon + 50 });
    assert.deepEqual(await store.write(endSleep("s", "t0")), { ok: false, reason: "fenced" });
    assertMembers(await store.write(endSleep("s")), { ok: true, task: { version: 3, waiting: false } });
    const ended = { deadlineAt: noon + 50, doneAt: noon + 5, doneVersion: 3 };
    assertMembers(await store.journalEntry(id, "s"), ended);
    for (const key of ["s", "x"])
      assert.deepEqual(await store.write(endSleep(key)), { ok: false, reason: "state" });
    assertMembers(await store.journalEntry(id, "s"), ended);
  },

  "entries keep the order in which they ended, whatever the writers' clocks show": async ({ store }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "sleep", now: noon, id, token: "t1", key: "s", until: noon + 50 });
    for (const key of ["l", "m", "n", "o"]) await store.write(ask(input(key)));
    const ends = [
      answer("n"),
      { ...step("k"), now: noon - 9 },
      { ...endSleep("s"), now: noon + 60 },
      { ...giveUp("o"), now: noon + 50 },
      { ...answer("m", "l"), now: noon - 20 },
    ];
    await Promise.all(ends.map((end) => store.write(end)));
    const versions = new Map(
      (await wholeJournal(store, id)).map(({ key, doneVersion }) => [key, doneVersion]),
    );
    assert.deepEqual(Object.fromEntries(versions), { n: 7, k: 8, s: 9, o: 10, m: 11, l: 11 });
    assertMembers(await store.get(id), { version: 11 });
  },
});
