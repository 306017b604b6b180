import { expect, it } from "vitest";
import { foreignSchema, jsonSchema } from "../../src/runtime/tool/schema.ts";
import { isMadeOf } from "../../src/serve/source.ts";

const text = { type: "string" };
const schemas = [
  {
    type: "object",
    properties: { a: text, b: { type: "integer", minimum: 3 } },
    required: ["a"],
    additionalProperties: false,
  },
  {
    type: "object",
    properties: { a: { ...text, maxLength: 2 } },
    patternProperties: { "^b": {} },
    additionalProperties: false,
  },
  {
    type: "object",
    properties: {
      a: { oneOf: [{ const: "x" }, { type: "integer" }] },
      b: { anyOf: [text, { type: "array" }] },
    },
  },
  {
    type: "object",
    properties: { a: { not: { const: "x" } }, b: { prefixItems: [text], items: { type: "integer" } } },
  },
  {
    type: "object",
    properties: { a: { $ref: "#/$defs/one" }, b: { items: { enum: [1, 2] } } },
    $defs: { one: text },
  },
  {
    type: "object",
    allOf: [{ required: ["a"] }, { properties: { b: false } }],
    if: { required: ["b"] },
    else: { required: ["a"] },
  },
  {
    type: "object",
    properties: { a: { type: "string", nullable: true }, b: { const: [1] } },
    minProperties: 1,
  },
];
const values = [undefined, null, "x", "xyz", 2, 5, [], [1], ["x", 1], {}].flatMap((a, _, all) =>
  all.map((b) => JSON.parse(JSON.stringify({ a, b })) as object),
);
const takes = (schema: ReturnType<typeof jsonSchema>, value: unknown): boolean =>
  !("issues" in (schema["~standard"].validate(value) as object));

it.each(schemas)("takes whatever %j takes, and not everything", (schema) => {
  const exact = jsonSchema(schema);
  const foreign = foreignSchema(schema);
  for (const value of values)
    if (takes(exact, value)) expect([value, takes(foreign, value)]).toEqual([value, true]);
  expect(takes(foreign, 5)).toBe(false);
  expect(foreign["~standard"].jsonSchema.input({ target: "draft-2020-12" })).toEqual(schema);
});

const many = <Item>(item: (index: number) => Item): Item[] =>
  Array.from({ length: 200 }, (_, index) => item(index));

it("takes every value where a schema is none, or so large that to read it, or to try all of it for each item, takes long", () => {
  let deep: object = { type: "string" };
  for (let level = 0; level < 5_000; level++) deep = { allOf: [deep] };
  const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`p${index}`, text]));
  for (const schema of [
    { type: "nonsense" },
    { type: "object", allOf: [deep] },
    { type: "object", properties: wide },
    { type: "object", properties: { p1: text, list: { items: { anyOf: many(() => text) } } } },
    { type: "object", properties: { p1: text, list: { items: { enum: many(String) } } } },
    { type: "object", anyOf: many(() => ({ properties: { p1: text }, additionalProperties: text })) },
  ])
    expect(takes(foreignSchema(schema), { p1: 5 })).toBe(true);
  for (const once of [{ anyOf: many(() => text) }, { enum: many(String) }])
    expect(takes(foreignSchema({ properties: { p1: once } }), { p1: 5 })).toBe(false);
});

it("finds the parts of a text in one pass", () => {
  expect(isMadeOf("x://a/b", ["x://", "/", ""])).toBe(true);
  expect(isMadeOf("x://a/b", ["x://a/b"])).toBe(true);
  expect(isMadeOf("aba", ["ab", "ba"])).toBe(false);
  expect(isMadeOf("aXbXc", ["a", "X", "X", "c"])).toBe(true);
  const doubled = Array.from({ length: 30 }, () => "");
  expect(isMadeOf(`x://${"a".repeat(10_000)}`, ["x://", ...doubled, "!"])).toBe(false);
});
