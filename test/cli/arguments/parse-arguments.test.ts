import { expect, it } from "vitest";
import { readInputSchema } from "../../../src/cli/arguments/input-schema.ts";
import { checkRequired, parseArguments } from "../../../src/cli/arguments/parse-arguments.ts";

const schema = readInputSchema({
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    size: { type: "number" },
    loud: { type: "boolean" },
    tags: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { $ref: "#/$defs/size" } },
    where: { type: "object" },
    level: { enum: ["low", "high"] },
    limit: { anyOf: [{ type: "integer" }, { type: "null" }] },
    any: {},
  },
  required: ["text", "count"],
  $defs: { size: { type: "number" } },
});

it.each([
  ["text=1", { text: "1" }],
  ["text=a=b c", { text: "a=b c" }],
  ["text=", { text: "" }],
  ["count=-3", { count: -3 }],
  ["size=1.5e3", { size: 1500 }],
  ["loud=false", { loud: false }],
  ["tags=one", { tags: ["one"] }],
  ['tags=["a","b"]', { tags: ["a", "b"] }],
  ["sizes=2", { sizes: [2] }],
  ['where={"x":1}', { where: { x: 1 } }],
  ["where:=[1]", { where: [1] }],
  ["level=low", { level: "low" }],
  ["limit=null", { limit: null }],
  ["limit=5", { limit: 5 }],
  ["any=5", { any: "5" }],
  ["any:=5", { any: 5 }],
  ["__proto__:=1", JSON.parse('{ "__proto__": 1 }')],
])("reads %s", (pair, args) => {
  expect(JSON.stringify(parseArguments([pair], schema, {}))).toBe(JSON.stringify(args));
});

it.each([
  ["text", /key=value or key:=json, not "text"/],
  ["=1", /not "=1"/],
  ["count=1.5", /count has to be integer, not "1\.5"/],
  ["count=", /count has to be integer/],
  ["size=NaN", /size has to be number/],
  ["size=0x10", /size has to be number/],
  ["loud=yes", /loud has to be boolean/],
  ["sizes=two", /sizes has to be list of number.*:=/],
  ["where=here", /where has to be object.*:=/],
  ["level=medium", /level has to be (one of )?low\|high/],
  ["count:=one", /count:= takes JSON/],
  [
    "other=1",
    /There is no argument "other"\. It takes text \(string, required\), count \(integer, required\), size/,
  ],
])("refuses %s", (pair, message) => {
  expect(() => parseArguments([pair], schema, {})).toThrow(message);
});

it("makes a list of a key that comes again, and only where a list is wanted", () => {
  expect(parseArguments(["tags=a", "tags=b", "sizes=1", "sizes=2"], schema, {})).toEqual({
    tags: ["a", "b"],
    sizes: [1, 2],
  });
  expect(() => parseArguments(["count=1", "count=2"], schema, {})).toThrow("count is given twice");
});

it("puts them on top of what is given, and then knows what is missing", () => {
  const args = parseArguments(["count=2"], schema, { text: "a", count: 1 });
  expect(args).toEqual({ text: "a", count: 2 });
  expect(() => checkRequired(args, schema)).not.toThrow();
  expect(() => checkRequired({ text: "a" }, schema)).toThrow(/Missing: count\. It takes/);
});

it("lets keys pass that the schema may allow in another way", () => {
  const open = readInputSchema({ type: "object", properties: {}, additionalProperties: true });
  expect(parseArguments(["x=1"], open, {})).toEqual({ x: "1" });
});
