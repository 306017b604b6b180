import assert from "node:assert/strict";
import { assertMembers } from "./assert-members.ts";
import { createRunning, noon, sampleRequest } from "./sample-task.ts";
import { storeCases, type StoreCase } from "./store-case.ts";
import { wholeJournal } from "./whole-journal.ts";

const id = "task-a";
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

function comesBack(text: string): StoreCase["check"] {
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
  "journal keys are told apart as JavaScript does, and come back as they were": async ({ store }) => {
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

  "JSON is kept as text: order, doubled keys, number forms and spaces survive": async ({ store }) => {
    const body = '{ "b":1, "a":1.0,"a":1e2, "n":12345678901234567890, "s":"\\u0000\\ud800" }\n';
    await store.write({ ...createRunning("a"), request: { ...sampleRequest, arguments: body } });
    await store.write({ type: "settle", ...held, outcome: { kind: "error", body } });
    assert.equal((await store.request(id))?.arguments, body);
    assert.equal((await store.snapshot(id))?.outcome?.body, body);
  },

  "a body of 2 MiB comes back whole": async ({ store }) => {
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

  "large times and counts keep their value": async ({ store }) => {
    const now = 2 ** 52 + 1;
    const ms = 2 ** 31 + 1;
    await store.write({ ...createRunning("a", { expiry: { from: "created", ms } }), now });
    assertMembers(await store.get(id), { createdAt: now, sweepAt: now + ms });
  },
});
