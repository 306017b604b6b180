import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { describeType, readInputSchema, type InputSchema } from "../../../src/cli/arguments/input-schema.ts";
import { completeArguments, parseArguments, readPairs } from "../../../src/cli/arguments/parse-arguments.ts";
import { folder } from "../run-cli.ts";

async function parse(
  words: readonly string[],
  schema: InputSchema,
  given: Record<string, unknown>,
  cwd = "/",
): Promise<Record<string, unknown>> {
  return parseArguments(await readPairs(words, cwd), schema, given);
}

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
    either: { anyOf: [{ type: "integer" }, { type: "string" }] },
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
  ['where:=\ufeff{"x":1}', { where: { x: 1 } }],
  ['where:={"x":[1]}', { where: { x: [1] } }],
  ["level=low", { level: "low" }],
  ["limit=null", { limit: null }],
  ["limit=5", { limit: 5 }],
  ["size=9007199254740992.5", { size: 9007199254740992 }],
  ["either=9007199254740993", { either: "9007199254740993" }],
  ["any=5", { any: "5" }],
  ["any:=5", { any: 5 }],
  ["text=@@ann", { text: "@ann" }],
  ["text=a@b", { text: "a@b" }],
  ["__proto__:=1", JSON.parse('{ "__proto__": 1 }')],
])("reads %s", async (pair, args) => {
  expect(JSON.stringify(await parse([pair], schema, {}))).toBe(JSON.stringify(args));
});

it.each([
  ["text", /key=value or key:=json, not "text"/],
  ["=1", /not "=1"/],
  ["count=1.5", /count must be an integer, not "1\.5"/],
  ["count=", /count must be an integer/],
  ["size=NaN", /size must be a number/],
  ["size=0x10", /size must be a number/],
  ["loud=yes", /loud must be a boolean/],
  ["sizes=two", /sizes must be a list of number.*:=/],
  ["where=here", /where must be an object.*:=/],
  ["level=medium", /level must be (one of )?low\|high/],
  ["count:=one", /count:= takes JSON/],
  ["count=9007199254740993", /count takes a number, and 9007199254740993 is too long.*9007199254740992/],
  ["size=-9007199254740993", /size takes a number/],
  ["sizes=[9007199254740993]", /9007199254740993 is too long to be sent exactly/],
  ["count:=9007199254740993", /count: 9007199254740993 is too long/],
  ['where:={"x":[9007199254740993]}', /where: 9007199254740993 is too long/],
  [
    "other=1",
    /There is no argument "other"\. It takes text \(string, required\), count \(integer, required\), size/,
  ],
])("refuses %s", async (pair, message) => {
  await expect(parse([pair], schema, {})).rejects.toThrow(message);
});

it("makes a list of a repeated key, if the schema allows a list", async () => {
  expect(await parse(["tags=a", "tags=b", "sizes=1", "sizes=2"], schema, {})).toEqual({
    tags: ["a", "b"],
    sizes: [1, 2],
  });
  await expect(parse(["count=1", "count=2"], schema, {})).rejects.toThrow("count is given twice");
});

it("adds them to the given object, and then reports missing ones", async () => {
  const args = await parse(["count=2"], schema, { text: "a", count: 1 });
  expect(args).toEqual({ text: "a", count: 2 });
  expect(completeArguments(args, schema)).toEqual(args);
  expect(() => completeArguments({ text: "a" }, schema)).toThrow(/Missing: count\. It takes/);
});

it("passes keys that other keywords of the schema may allow", async () => {
  const open = readInputSchema({ type: "object", properties: {}, additionalProperties: true });
  expect(await parse(["x=1"], open, {})).toEqual({ x: "1" });
});

it.each([
  [{ text: "a", count: "2" }, /count must be an integer, not "2"/],
  [{ text: "a", count: 1.5 }, /count must be an integer, not 1\.5/],
  [{ text: "a", count: 1, where: [1] }, /where must be an object, not \[1\]/],
  [{ text: "a", count: 1, level: "medium" }, /level must be one of low\|high/],
  [{ text: "a", count: 1, other: 3 }, /no argument "other"/],
])("refuses %j, however it was given", (args, message) => {
  expect(() => completeArguments(args, schema)).toThrow(message);
});

it("leaves values without a type in the schema to the server", () => {
  const unsaid = readInputSchema({ type: "object" });
  expect(completeArguments({ x: 1 }, unsaid)).toEqual({ x: 1 });
  const partly = { anyOf: [{ type: "string" }, { $ref: "https://example.com/schema" }] };
  const open = readInputSchema({ type: "object", properties: { x: partly } });
  expect(completeArguments({ x: 1 }, open)).toEqual({ x: 1 });
});

it("adds the defaults of required arguments", () => {
  const withDefault = readInputSchema({
    type: "object",
    properties: { width: { type: "number", default: 80 }, all: { type: "boolean", default: false } },
    required: ["width"],
  });
  expect(completeArguments({}, withDefault)).toEqual({ width: 80 });
  expect(completeArguments({ width: 5 }, withDefault)).toEqual({ width: 5 });
});

it("ends for recursive schemas", async () => {
  const recursive = readInputSchema({
    type: "object",
    properties: { list: { $ref: "#/$defs/list" }, choice: { $ref: "#/$defs/choice" } },
    $defs: {
      list: { type: "array", items: { $ref: "#/$defs/list" } },
      choice: { anyOf: [{ type: "string" }, { $ref: "#/$defs/choice" }] },
    },
  });
  const { properties, root } = recursive;
  const described = [...properties.values()].map((property) => describeType(property, root));
  expect(described).toEqual(["list", "any"]);
  await expect(parse(["list=x"], recursive, {})).rejects.toThrow(/list must be a list/);
  expect(await parse(["list=[[]]", "choice=x"], recursive, {})).toEqual({ list: [[]], choice: "x" });
});

/** Not UTF-8. */
const bytes = Buffer.from([0xff, 0xd8, 0xfb, 0xef]);

it.each([
  ["text=@note.txt", { text: "Grüße\n" }],
  ["tags=@note.txt", { tags: ["Grüße\n"] }],
  ["count=@five.json", { count: 5 }],
  ["where:=@where.json", { where: { x: [1] } }],
  ["photo=@photo", { photo: "/9j77w==" }],
  ["photo=@note.txt", { photo: "R3LDvMOfZQo=" }],
  ["photo=R3LDvMOfZQo=", { photo: "R3LDvMOfZQo=" }],
  ["maybe=@photo", { maybe: "/9j77w==" }],
  ["photos=@photo", { photos: ["/9j77w=="] }],
  ["forUrls=@photo", { forUrls: "_9j77w" }],
  ["openApi=@photo", { openApi: "/9j77w==" }],
])("takes the content of a file, encoded as the schema says: %s", async (word, args) => {
  const cwd = await folder();
  await writeFile(join(cwd, "note.txt"), "Grüße\n");
  await writeFile(join(cwd, "five.json"), "5");
  await writeFile(join(cwd, "where.json"), '{ "x": [1] }\n');
  await writeFile(join(cwd, "photo"), bytes);
  const base64 = { type: "string", contentEncoding: "base64" };
  const files = readInputSchema({
    type: "object",
    properties: {
      ...Object.fromEntries(schema.properties),
      photo: base64,
      maybe: { anyOf: [base64, { type: "null" }] },
      photos: { type: "array", items: { $ref: "#/$defs/photo" } },
      forUrls: { type: "string", contentEncoding: "base64url" },
      openApi: { type: "string", format: "byte" },
    },
    $defs: { photo: base64 },
  });
  expect(await parse([word], files, {}, cwd)).toEqual(args);
});

it.each([
  ["text=@photo", /text: photo is not UTF-8 text, and the schema does not say that text is base64/],
  ["where:=@photo", /photo is not UTF-8 text/],
  ["where:=@note.txt", /where:= takes JSON/],
  ["text=@missing.txt", /text=@ reads the value from a file: .*missing\.txt.* write text=@@…/],
  ["text=@", /text=@ reads the value from a file/],
  ["where:=@@note.txt", /where:=@ reads the value from a file: .*@note\.txt/],
])("refuses %s", async (word, message) => {
  const cwd = await folder();
  await writeFile(join(cwd, "note.txt"), "Grüße\n");
  await writeFile(join(cwd, "photo"), bytes);
  await expect(parse([word], schema, {}, cwd)).rejects.toThrow(message);
});
