import { describe, expect, it } from "vitest";
import { paramHeaders, readParamHeaders } from "../../../src/client/2026-07-28/generation.ts";

const wants = (header: unknown, type: unknown = "string"): object => ({ type, "x-mcp-header": header });
const objectOf = (properties: object, more: object = {}): object => ({ type: "object", properties, ...more });

describe("which arguments a tool wants in headers", () => {
  it("is said by its schema, at any depth of properties", () => {
    const schema = objectOf({
      region: wants("Region"),
      where: objectOf({
        size: wants("Size", "integer"),
        deep: objectOf({ "x-mcp-header": wants("Flag", "boolean") }),
      }),
      other: { type: "number" },
    });
    expect(readParamHeaders(schema)).toEqual([
      { header: "Region", path: ["region"] },
      { header: "Size", path: ["where", "size"] },
      { header: "Flag", path: ["where", "deep", "x-mcp-header"] },
    ]);
    for (const none of [undefined, true, {}, objectOf({})]) expect(readParamHeaders(none)).toEqual([]);
  });

  it.each([
    ["at the root", { ...wants("Region"), properties: {} }],
    ["with an empty name", objectOf({ a: wants("") })],
    ["with a name that is no token", objectOf({ a: wants("Re gion") })],
    ["with a name that is no text", objectOf({ a: wants(7) })],
    ["on a number", objectOf({ a: wants("A", "number") })],
    ["on an object", objectOf({ a: wants("A", "object") })],
    ["on what has several types", objectOf({ a: wants("A", ["string", "null"]) })],
    ["twice, in other letters", objectOf({ a: wants("Region"), b: objectOf({ c: wants("REGION") }) })],
    ["on items", objectOf({ a: { type: "array", items: wants("A") } })],
    ["in an alternative", objectOf({}, { anyOf: [objectOf({ a: wants("A") })] })],
    ["in a definition", objectOf({}, { $defs: { a: wants("A") } })],
    ["on properties by pattern", objectOf({}, { patternProperties: { "^x": wants("A") } })],
  ])("is nothing to go by where it is said %s", (_, schema) => {
    expect(readParamHeaders(schema)).toBeUndefined();
  });
});

describe("the headers of a call", () => {
  const header = (value: unknown): string | undefined =>
    paramHeaders([{ header: "Own", path: ["a", "b"] }], { a: { b: value } })["Mcp-Param-Own"];

  it.each([
    ["eu-west", "eu-west"],
    ["a b\tc ~!", "a b\tc ~!"],
    [true, "true"],
    [false, "false"],
    [42, "42"],
    [-7, "-7"],
    [1.5, "1.5"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    ["", "=?base64??="],
    [" eu", "=?base64?IGV1?="],
    ["eu\t", "=?base64?ZXUJ?="],
    ["größe", "=?base64?Z3LDtsOfZQ==?="],
    ["日本", "=?base64?5pel5pys?="],
    ["a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="],
    ["=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="],
    ["=?base64?YQ==", "=?base64?YQ=="],
  ])("have %j as %s", (value, text) => {
    expect(header(value)).toBe(text);
  });

  it.each([[null], [undefined], [{}], [["a"]], [2 ** 53], [1e300]])("leave out %j", (value) => {
    expect(header(value)).toBeUndefined();
  });

  it("take no argument that was not given", () => {
    const wanted = [{ header: "Own", path: ["constructor", "name"] }];
    for (const args of [{}, undefined, { constructor: "x" }]) expect(paramHeaders(wanted, args)).toEqual({});
  });
});
