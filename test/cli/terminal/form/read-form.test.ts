import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FormField, readForm } from "../../../../src/cli/terminal/form/question-text.ts";

function only(schema: object): Partial<FormField> | undefined {
  const [field] = readForm({ type: "object", properties: { k: schema } });
  const { key, title, description, required, ...rest } = field ?? ({} as FormField);
  expect([key, title, description, required]).toEqual(["k", "k", undefined, false]);
  // Left out and undefined are the same here.
  return JSON.parse(JSON.stringify(rest)) as Partial<FormField>;
}

const choices = [
  { value: "r", title: "Red" },
  { value: "g", title: "Green" },
];
const titled = [
  { const: "r", title: "Red" },
  { const: "g", title: "Green" },
];

describe("a form has", () => {
  it.each([
    [
      "text",
      { type: "string", minLength: 1, maxLength: 9, format: "email", default: "a@b.c" },
      { kind: "text", minLength: 1, maxLength: 9, format: "email", default: "a@b.c" },
    ],
    [
      "numbers",
      { type: "number", minimum: 1, maximum: 2, default: 1.5 },
      { kind: "number", integer: false, minimum: 1, maximum: 2, default: 1.5 },
    ],
    ["whole numbers", { type: "integer" }, { kind: "number", integer: true }],
    ["yes or no", { type: "boolean", default: false }, { kind: "boolean", default: false }],
    ["an enum", { type: "string", enum: ["r"] }, { kind: "choice", choices: [{ value: "r", title: "r" }] }],
    [
      "an enum of old, with names",
      { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"], default: "g" },
      { kind: "choice", choices, default: "g" },
    ],
    [
      "a titled enum",
      { type: "string", oneOf: titled, default: "g" },
      { kind: "choice", choices, default: "g" },
    ],
    [
      "several of an enum",
      { type: "array", items: { type: "string", enum: ["r"] }, minItems: 1, maxItems: 2 },
      { kind: "choices", choices: [{ value: "r", title: "r" }], minItems: 1, maxItems: 2 },
    ],
    [
      "several of a titled enum",
      { type: "array", items: { anyOf: titled }, default: ["g", "x", 1] },
      { kind: "choices", choices, default: ["g"] },
    ],
    [
      "a default that is no choice, left out",
      { type: "string", enum: ["r"], default: "x" },
      { kind: "choice", choices: [{ value: "r", title: "r" }] },
    ],
    ["what nobody knows", { type: "object", properties: {} }, { kind: "unknown" }],
    ["arrays of what nobody knows", { type: "array", items: { type: "number" } }, { kind: "unknown" }],
  ])("%s", (_name, schema, field) => {
    expect(only(schema)).toEqual(field);
  });

  it("fields in order, with their titles and whether they are required", () => {
    const fields = readForm({
      type: "object",
      properties: { b: { type: "string", title: "Bee", description: "buzzes" }, a: { type: "boolean" } },
      required: ["b", "z"],
    });
    expect(fields).toMatchObject([
      { key: "b", title: "Bee", description: "buzzes", required: true },
      { key: "a", title: "a", required: false },
    ]);
  });
});

it("is read from any value that a server sends", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (schema, whole) => {
      expect(readForm({ properties: { k: schema } })).toHaveLength(1);
      expect(readForm(whole)).toEqual(expect.any(Array));
    }),
  );
});
