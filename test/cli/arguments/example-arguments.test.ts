import { expect, it } from "vitest";
import { exampleArguments } from "../../../src/cli/command/tools.ts";
import { readInputSchema } from "../../../src/cli/arguments/input-schema.ts";
import { completeArguments, parseArguments, readPairs } from "../../../src/cli/arguments/parse-arguments.ts";

it.each([
  [{ type: "string" }, ["it=..."]],
  [{ type: "string", format: "email" }, ["it=ann@example.com"]],
  [{ type: "string", examples: ["2026-10"] }, ["it=2026-10"]],
  [{ type: "string", minLength: 5 }, ["it=....."]],
  [{ type: "integer" }, ["it=1"]],
  [{ type: "integer", minimum: 18 }, ["it=18"]],
  [{ type: "number", exclusiveMinimum: 0, multipleOf: 5 }, ["it=5"]],
  [{ type: "number", maximum: 0 }, ["it=0"]],
  [{ type: "boolean" }, ["it=true"]],
  [{ type: "boolean", default: false }, ["it=false"]],
  [{ type: "null" }, ["it=null"]],
  [{ enum: ["low", "high"] }, ["it=low"]],
  [{ const: 5 }, ["it=5"]],
  [{ type: "array", items: { type: "string" } }, ["it=..."]],
  [{ type: "array", examples: [["a", "b"]], items: { type: "string" } }, ["it=a", "it=b"]],
  [{ type: "array", items: { type: "array", items: { type: "number" } } }, ["it=1"]],
  [
    {
      type: "object",
      properties: { name: { type: "string" }, age: { type: "integer" }, note: { type: "string" } },
      required: ["name", "age"],
    },
    ['it:={"name":"Ada","age":1}'],
  ],
  [{ anyOf: [{ type: "integer" }, { type: "string" }], examples: ["7"] }, ['it:="7"']],
  [{ anyOf: [{ type: "object", properties: {} }, { type: "null" }] }, ["it:={}"]],
  [{ $ref: "#/$defs/size" }, ["it=2"]],
  [{ $ref: "#/$defs/tree" }, ['it:={"below":[{"below":[{"below":[]}]}]}']],
  [{}, ["it=..."]],
  [{ type: "string", examples: ["@ann"] }, ["it=@@ann"]],
])("are read as values that fit %j", async (property, words) => {
  const root = {
    type: "object",
    properties: { other: { type: "string" }, it: property },
    required: ["it"],
    $defs: {
      size: { type: "number", minimum: 2 },
      tree: {
        type: "object",
        properties: { below: { type: "array", items: { $ref: "#/$defs/tree" } } },
        required: ["below"],
      },
    },
  };
  expect(exampleArguments(root)).toEqual(words);
  const schema = readInputSchema(root);
  const pairs = await readPairs(words, "/");
  expect(() => completeArguments(parseArguments(pairs, schema, {}), schema)).not.toThrow();
});

it("are the first one where none is required, and none where there are none", () => {
  const properties = { label: { type: "string" }, seconds: { type: "number" } };
  expect(exampleArguments({ type: "object", properties })).toEqual(["label=..."]);
  expect(exampleArguments({ type: "object" })).toEqual([]);
});
