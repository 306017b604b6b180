import { describe, expect, test } from "vitest";
import type { ContractContext } from "./store-contract.ts";
import { createRunning, noon, sampleRequest } from "./sample-task.ts";

const id = "task-a";

/** Texts that a store may be tempted to repair, shorten or compare loosely. */
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

export function textContract(current: () => ContractContext): void {
  describe("text", () => {
    test("journal keys are told apart as JavaScript does, and come back as they were", async () => {
      const { store } = current();
      await store.write(createRunning("a"));
      for (const key of awkward) {
        const step = {
          type: "record_step",
          now: noon,
          id,
          token: "t1",
          key,
          value: key,
          error: null,
        } as const;
        expect(await store.write(step)).toMatchObject({ ok: true });
      }
      const entries = await store.journal(id);
      expect(entries.map(({ key }) => key)).toEqual(awkward);
      expect(entries.map(({ value }) => value)).toEqual(awkward);
      for (const key of awkward) expect(await store.journalEntry(id, key)).toMatchObject({ key });
    });

    test.each(awkward)("every text of a task comes back as it was: %j", async (text) => {
      const { store } = current();
      const names = { wireId: text, scope: text, principal: text, idempotencyKey: text, statusMessage: text };
      const request = { origin: { session: text, capabilities: { [text]: text } }, arguments: text };
      await store.write({ ...createRunning("a", names), request });
      const progress = { progress: 1, message: text };
      await store.write({ type: "update", now: noon, id, token: "t1", changes: { progress } });
      expect(await store.get(id)).toMatchObject({ ...names, progress });
      expect(await store.request(id)).toEqual(request);
      const outcome = { kind: "result", body: text } as const;
      await store.write({ type: "settle", now: noon, id, token: "t1", outcome });
      expect((await store.snapshot(id))?.outcome).toEqual(outcome);
    });

    test("JSON is kept as text: order, doubled keys, number forms and spaces survive", async () => {
      const { store } = current();
      const body = '{ "b":1, "a":1.0,"a":1e2, "n":12345678901234567890, "s":"\\u0000\\ud800" }\n';
      await store.write({ ...createRunning("a"), request: { ...sampleRequest, arguments: body } });
      await store.write({ type: "settle", now: noon, id, token: "t1", outcome: { kind: "error", body } });
      expect((await store.request(id))?.arguments).toBe(body);
      expect((await store.snapshot(id))?.outcome?.body).toBe(body);
    });

    test("a body of 2 MiB comes back whole", async () => {
      const { store } = current();
      const body = JSON.stringify({ text: "häh🙂".repeat(2 ** 18) });
      await store.write({ ...createRunning("a"), request: { ...sampleRequest, arguments: body } });
      const step = {
        type: "record_step",
        now: noon,
        id,
        token: "t1",
        key: "k",
        value: body,
        error: body,
      } as const;
      await store.write(step);
      await store.write({ type: "settle", now: noon, id, token: "t1", outcome: { kind: "result", body } });
      expect((await store.request(id))?.arguments === body).toBe(true);
      const entry = await store.journalEntry(id, "k");
      expect(entry?.value === body && entry.error === body).toBe(true);
      expect((await store.snapshot(id))?.outcome?.body === body).toBe(true);
    });

    test("large times and counts keep their value", async () => {
      const { store } = current();
      const now = 2 ** 52 + 1;
      await store.write({ ...createRunning("a", { expiry: { from: "created", ms: 2 ** 31 + 1 } }), now });
      expect(await store.get(id)).toMatchObject({ createdAt: now, sweepAt: now + 2 ** 31 + 1 });
    });
  });
}
