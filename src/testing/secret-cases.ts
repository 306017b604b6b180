import assert from "node:assert/strict";
import { noon } from "./sample-task.ts";
import { storeCases } from "./store-case.ts";

export const secretCases = storeCases("secret", {
  "the first value of a name is kept, for whoever asks": async ({ store }) => {
    const keep = (name: string, value: string) =>
      store.write({ type: "keep_secret", now: noon, name, value });
    assert.deepEqual(await keep("one", "first"), { ok: true, value: "first" });
    assert.deepEqual(await keep("one", "second"), { ok: true, value: "first" });
    assert.deepEqual(await keep("two", "second"), { ok: true, value: "second" });
  },

  "whoever gives no value learns of the one that is kept": async ({ store }) => {
    const keep = (name: string, value: string | null) =>
      store.write({ type: "keep_secret", now: noon, name, value });
    assert.deepEqual(await keep("one", null), { ok: true, value: null });
    assert.deepEqual(await keep("one", "first"), { ok: true, value: "first" });
    assert.deepEqual(await keep("one", null), { ok: true, value: "first" });
  },

  "of two values at the same time one is kept, and both callers get it": async ({ store }) => {
    const values = await Promise.all(
      ["first", "second"].map((value) => store.write({ type: "keep_secret", now: noon, name: "one", value })),
    );
    assert.deepEqual(values, [
      { ok: true, value: "first" },
      { ok: true, value: "first" },
    ]);
  },
});
