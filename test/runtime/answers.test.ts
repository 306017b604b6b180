import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { judgeAnswer } from "../../src/runtime/questions/questions.ts";

/** Whether an accepted form with this content is an answer. */
function fits(requestedSchema: object, content: object): boolean {
  return "answer" in judgeAnswer("elicitation/create", { requestedSchema }, { action: "accept", content });
}

const form = (type: string, more: object = {}): object => ({
  type: "object",
  properties: { field: { type } },
  required: ["field"],
  ...more,
});

describe("an answer to a form", () => {
  it("is judged by its own schema where two have the same $id", () => {
    const [texts, numbers] = [form("string", { $id: "form" }), form("number", { $id: "form" })];
    for (let again = 0; again < 2; again++) {
      expect([fits(texts, { field: "a" }), fits(texts, { field: 1 })]).toEqual([true, false]);
      expect([fits(numbers, { field: "a" }), fits(numbers, { field: 1 })]).toEqual([false, true]);
    }
  });

  it.each([
    undefined,
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
  ])("is judged in the dialect %s", ($schema) => {
    const schema = form("string", $schema === undefined ? {} : { $schema });
    expect([fits(schema, { field: "a" }), fits(schema, { field: 1 })]).toEqual([true, false]);
  });

  it("is judged by formats, and taken where nothing can be made of the schema", () => {
    const email = { type: "object", properties: { to: { type: "string", format: "email" } } };
    expect([fits(email, { to: "ann@example.com" }), fits(email, { to: "ann" })]).toEqual([true, false]);
    expect(fits(form("string", { $schema: "https://example.com/own" }), { field: 1 })).toBe(true);
    expect(fits(form("string", { $ref: "#/nowhere" }), { field: 1 })).toBe(true);
  });

  it("leaves nothing behind of its schema", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const answered = new WeakRef(form("string"));
    // In a function of its own, so that no frame of this one holds the schema.
    (() => fits(answered.deref() ?? {}, { field: "a" }))();
    for (let round = 0; round < 100 && answered.deref() !== undefined; round++) {
      await setImmediate();
      collect();
    }
    expect(answered.deref()).toBeUndefined();
  });
});
