import assert from "node:assert/strict";
import type { TaskStore } from "../store/store.ts";
import { assertMembers, storeCases, type Check } from "./store-case.ts";
import {
  askAs,
  callInChain,
  settleAs,
  createQueued,
  createRunning,
  noon,
  wholeJournal,
  sampleRequest,
} from "./sample-task.ts";

const id = "task-a";

/** Everything that a store reveals about one task. */
async function allOf(store: TaskStore): Promise<readonly unknown[]> {
  return [await store.snapshot(id), await store.request(id), await wholeJournal(store, id)];
}

function stepUnder(key: string) {
  return { type: "record_step", now: noon, id, token: "t1", key, value: "1", error: null } as const;
}

function question(key: string) {
  const input = { key, method: "elicitation/create", params: "{}" } as const;
  return {
    type: "open_input",
    now: noon,
    id,
    token: "t1",
    input,
    requestHash: "h",
    deadlineAt: null,
  } as const;
}

const awkwardOutcome = { kind: "result", body: '{ "a":1.0, "s":"\\ud800" }' } as const;

/** For stores that keep what they acknowledged: each case checks through a second store. */
export const durableCases = storeCases("reopen", {
  "a second store in the same place finds the stored data": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    await store.write(stepUnder("k"));
    const before = await allOf(store);
    assert.deepEqual(await allOf(await reopen()), before);
  },

  "a write made before close is kept": async ({ store, reopen }) => {
    const writes = Array.from({ length: 50 }, (_, index) => store.write(createQueued(`w${index}`)));
    const second = await reopen();
    for (const result of await Promise.all(writes)) assert.equal(result.ok, true);
    assert.equal((await second.unfinished("", 100)).length, 50);
  },

  "a running task keeps its token": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    const second = await reopen();
    assertMembers(await second.unfinished("", 10), [{ id, state: "running", token: "t1", crashes: 0 }]);
    assert.deepEqual(await second.write({ ...stepUnder("k"), token: "t2" }), { ok: false, reason: "fenced" });
    assertMembers(await second.write(stepUnder("k")), { ok: true });
  },

  "the journal continues where it stopped": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    for (const command of [question("z"), stepUnder("m"), question("y")]) await store.write(command);
    const second = await reopen();
    assert.deepEqual(await second.write(stepUnder("m")), { ok: false, reason: "duplicate" });
    await second.write(stepUnder("b"));
    const answers = [{ key: "y", value: "{}" }];
    assertMembers(await second.write({ type: "answer_inputs", now: noon, id, answers }), { accepted: ["y"] });
    const keys = (await wholeJournal(second, id)).map(({ key }) => key);
    assert.deepEqual(keys, ["z", "m", "y", "b"]);
    assertMembers(await second.snapshot(id), { task: { openInputs: 1 }, inputs: [{ key: "z" }] });
  },

  "a finished task stays finished and keeps its outcome": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    await store.write({ type: "settle", now: noon, id, token: "t1", outcome: awkwardOutcome });
    const before = await allOf(store);
    const second = await reopen();
    const again = await second.write({ type: "cancel", now: noon + 1, id });
    assert.deepEqual(again, { ok: false, reason: "finished" });
    assert.deepEqual(await allOf(second), before);
    assert.deepEqual((await second.snapshot(id))?.outcome, awkwardOutcome);
  },

  "a repeated call finds its task": async ({ store, reopen }) => {
    await store.write(createQueued("a", { idempotencyKey: "i" }));
    const second = await reopen();
    const again = await second.write(createQueued("b", { idempotencyKey: "i" }));
    assertMembers(again, { ok: true, created: false, task: { id } });
    const taken = await second.write(createQueued("c", { wireId: id }));
    assert.deepEqual(taken, { ok: false, reason: "taken" });
  },

  "a secret stays the same": async ({ store, reopen }) => {
    await store.write({ type: "keep_secret", now: noon, name: "one", value: "first" });
    const second = await reopen();
    const kept = await second.write({ type: "keep_secret", now: noon, name: "one", value: "second" });
    assert.deepEqual(kept, { ok: true, value: "first" });
  },

  "due tasks are still due, and deleted tasks stay deleted": async ({ store, reopen }) => {
    await store.write(createQueued("a", { expiry: { from: "created", ms: 30 } }));
    await store.write(createQueued("b", { expiry: { from: "terminal", ms: 20 } }));
    await store.write({ type: "cancel", now: noon, id: "task-b" });
    await store.write(createQueued("c", { expiry: { from: "created", ms: 10 } }));
    await store.write({ type: "cancel", now: noon, id: "task-c" });
    await store.write({ type: "delete_expired", now: noon + 10, limit: 10 });
    const second = await reopen();
    assert.equal(await second.get("task-c"), undefined);
    assert.equal(await second.nextSweepAt(noon), noon + 20);
    assert.deepEqual(await second.due(noon + 30, 10), [id]);
    const deleted = await second.write({ type: "delete_expired", now: noon + 30, limit: 10 });
    assert.deepEqual(deleted, { ok: true, deleted: ["task-b"] });
  },

  "waits still end: for calls, descendants' questions and events": async ({ store, reopen }) => {
    await callInChain(store, "a", "b");
    await store.write(askAs("b", "q"));
    const event = { type: "send_event", now: noon, id, name: "paid", value: "1", limit: 9 } as const;
    await store.write({ ...event, dedupeId: "one" });
    const failed = { now: noon, id, token: "t1", key: "k", error: "{}" };
    await store.write({ ...failed, type: "retry_step", tries: 1, until: noon + 9 });
    const before = [await allOf(store), await store.get("task-b")];
    const second = await reopen();
    assert.deepEqual([await allOf(second), await second.get("task-b")], before);
    assertMembers(await second.snapshot(id), { inputs: [{ method: "elicitation/create" }] });
    assertMembers(await second.write({ ...event, dedupeId: "one" }), { isNew: false });
    const wait = { key: "w", name: "paid", requestHash: "h", deadlineAt: null };
    await second.write({ type: "wait_event", now: noon, id, token: "t1", ...wait });
    assertMembers(await second.journalEntry(id, "w"), { value: "1" });
    await second.write(settleAs("b", "2"));
    assertMembers(await second.journalEntry(id, "call-b"), { value: "2" });
    assertMembers(await second.get(id), { openInputs: 0, childInputs: 0, openWaits: 0 });
    assert.equal(await (await reopen()).get("task-b"), undefined);
  },

  "refused commands left nothing behind": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    const before = await allOf(store);
    await store.write({ ...stepUnder("k"), token: "t2" });
    await store.write({ type: "settle", now: noon, id, token: "t2", outcome: awkwardOutcome });
    await store.write({ type: "start", now: noon, id, token: "t2" });
    await store.write(createQueued("b", { wireId: id }));
    const second = await reopen();
    assert.deepEqual(await allOf(second), before);
    assert.equal(await second.request("task-b"), undefined);
  },
});

/** For stores that keep nothing: keeping a part would be worse than nothing. */
export const forgettingCases = storeCases("reopen", {
  "a second store in the same place finds nothing": async ({ store, reopen }) => {
    await store.write(createRunning("a"));
    const step = { type: "record_step", now: noon, id: "task-a", token: "t1", key: "k" } as const;
    await store.write({ ...step, value: "1", error: null });
    const second = await reopen();
    assert.equal(await second.snapshot("task-a"), undefined);
    assert.equal(await second.request("task-a"), undefined);
    assert.deepEqual(await wholeJournal(second, "task-a"), []);
    assert.deepEqual(await second.unfinished("", 10), []);
    assert.equal(await second.nextSweepAt(noon), null);
  },
});

const held = { now: noon, id, token: "t1" };

/** Texts that a store might repair, shorten or compare loosely. */
const awkward = [
  "",
  " ",
  "null",
  "a\u0000b",
  "\u0000",
  "\ud800",
  "\udfff",
  "x\ud800y",
  "\ufffd",
  "\ufffe",
  "\ufeffbom",
  "\uffff",
  '\ufffe"quoted"',
  "é",
  "e\u0301",
  "K",
  "k",
  "🙂",
  "' OR 1=1 --",
];

function comesBack(text: string): Check {
  return async ({ store }) => {
    const names = { wireId: text, scope: text, principal: text, idempotencyKey: text, statusMessage: text };
    const request = {
      origin: { session: text, capabilities: { [text]: text } },
      arguments: text,
      prepared: text,
    };
    await store.write({ ...createRunning("a", names), request });
    const progress = { progress: 1, message: text };
    await store.write({ type: "update", ...held, changes: { progress } });
    assertMembers(await store.get(id), { ...names, progress });
    assert.deepEqual(await store.request(id), request);
    const outcome = { kind: "result", body: text } as const;
    await store.write({ type: "settle", ...held, outcome });
    assert.deepEqual((await store.snapshot(id))?.outcome, outcome);
  };
}

export const textCases = storeCases("text", {
  "journal keys are compared as in JavaScript and stored unchanged": async ({ store }) => {
    await store.write(createRunning("a"));
    for (const key of awkward) {
      const step = { type: "record_step", ...held, key, value: key, error: null } as const;
      assertMembers(await store.write(step), { ok: true });
    }
    const entries = await wholeJournal(store, id);
    assert.deepEqual(
      entries.map(({ key }) => key),
      awkward,
    );
    assert.deepEqual(
      entries.map(({ value }) => value),
      awkward,
    );
    for (const key of awkward) assertMembers(await store.journalEntry(id, key), { key });
  },

  ...Object.fromEntries(
    awkward.map((text) => [
      `every text of a task comes back as it was: ${JSON.stringify(text)}`,
      comesBack(text),
    ]),
  ),

  "JSON is kept as text, with its order, duplicate keys, number forms and spaces": async ({ store }) => {
    const body = '{ "b":1, "a":1.0,"a":1e2, "n":12345678901234567890, "s":"\\u0000\\ud800" }\n';
    await store.write({ ...createRunning("a"), request: { ...sampleRequest, arguments: body } });
    await store.write({ type: "settle", ...held, outcome: { kind: "error", body } });
    assert.equal((await store.request(id))?.arguments, body);
    assert.equal((await store.snapshot(id))?.outcome?.body, body);
  },

  "a body of 2 MiB is stored completely": async ({ store }) => {
    const body = JSON.stringify({ text: "häh🙂".repeat(2 ** 18) });
    await store.write({ ...createRunning("a"), request: { ...sampleRequest, arguments: body } });
    await store.write({ type: "record_step", ...held, key: "k", value: body, error: body });
    await store.write({ type: "settle", ...held, outcome: { kind: "result", body } });
    // Compared as a whole: a message with both texts would not help.
    const entry = await store.journalEntry(id, "k");
    assert.ok((await store.request(id))?.arguments === body, "the arguments differ");
    assert.ok(entry?.value === body && entry.error === body, "the journal entry differs");
    assert.ok((await store.snapshot(id))?.outcome?.body === body, "the outcome differs");
  },

  "a large outcome is read when there is memory for it, and no other waits for that": async ({ store }) => {
    const bodies = { a: '{"content":[]}', b: JSON.stringify({ text: "x".repeat(100_000) }) };
    for (const [name, body] of Object.entries(bodies)) {
      await store.write(createRunning(name));
      const outcome = { kind: "result", body } as const;
      await store.write({ type: "settle", ...held, id: `task-${name}`, outcome });
    }
    await store.write(createRunning("c"));
    const asked: number[] = [];
    const bodyOf = async (name: string, visible = true, refusal?: Error): Promise<string | undefined> => {
      const reserve = async (bytes: number): Promise<void> => {
        asked.push(bytes);
        if (refusal !== undefined) throw refusal;
      };
      return (await store.snapshot(`task-${name}`, () => visible, reserve))?.outcome?.body;
    };
    assert.equal(await bodyOf("a"), bodies.a);
    for (const name of ["c", "x"]) assert.equal(await bodyOf(name), undefined);
    assert.equal(await bodyOf("b", false), undefined);
    assert.deepEqual(asked, []);
    assert.ok((await bodyOf("b")) === bodies.b, "the outcome differs");
    assert.ok(asked.length === 1 && (asked[0] ?? 0) >= bodies.b.length, "the size is what is stored");
    const gone = new Error("gone");
    await assert.rejects(bodyOf("b", true, gone), (thrown) => thrown === gone);
  },

  "large times and counts are stored exactly": async ({ store }) => {
    const now = 2 ** 52 + 1;
    const ms = 2 ** 31 + 1;
    await store.write({ ...createRunning("a", { expiry: { from: "created", ms } }), now });
    assertMembers(await store.get(id), { createdAt: now, sweepAt: now + ms });
  },
});

export const secretCases = storeCases("secret", {
  "the first value of a name is kept for everyone": async ({ store }) => {
    const keep = (name: string, value: string) =>
      store.write({ type: "keep_secret", now: noon, name, value });
    assert.deepEqual(await keep("one", "first"), { ok: true, value: "first" });
    assert.deepEqual(await keep("one", "second"), { ok: true, value: "first" });
    assert.deepEqual(await keep("two", "second"), { ok: true, value: "second" });
  },

  "a caller without a value gets the stored one": async ({ store }) => {
    const keep = (name: string, value: string | null) =>
      store.write({ type: "keep_secret", now: noon, name, value });
    assert.deepEqual(await keep("one", null), { ok: true, value: null });
    assert.deepEqual(await keep("one", "first"), { ok: true, value: "first" });
    assert.deepEqual(await keep("one", null), { ok: true, value: "first" });
  },

  "a value is replaced, or deleted, by who knows it": async ({ store }) => {
    const keep = (value: string | null) =>
      store.write<"keep_secret">({ type: "keep_secret", now: noon, name: "one", value });
    const replace = (before: string, value: string | null) =>
      store.write<"replace_secret">({ type: "replace_secret", now: noon, name: "one", before, value });
    assert.deepEqual(await replace("first", "second"), { ok: true, replaced: false });
    await keep("first");
    assert.deepEqual(await replace("other", "second"), { ok: true, replaced: false });
    assert.deepEqual(await replace("first", "second"), { ok: true, replaced: true });
    assert.equal((await keep(null)).value, "second");
    const both = await Promise.all([replace("second", "third"), replace("second", "fourth")]);
    assert.equal(both.filter(({ replaced }) => replaced).length, 1);
    const { value } = await keep(null);
    assert.deepEqual(await replace(value ?? "", null), { ok: true, replaced: true });
    assert.equal((await keep("fifth")).value, "fifth");
  },

  "of two concurrent values one is kept, and both callers get it": async ({ store }) => {
    const values = await Promise.all(
      ["first", "second"].map((value) => store.write({ type: "keep_secret", now: noon, name: "one", value })),
    );
    assert.deepEqual(values, [
      { ok: true, value: "first" },
      { ok: true, value: "first" },
    ]);
  },
});
