import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeJson } from "../../src/task/stored-text.ts";

/** Without negative zeros, the one thing that JSON has and does not give back. */
const jsonValue = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)));

describe("encodeJson", () => {
  test("what it takes comes back unchanged", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(JSON.parse(encodeJson(value, "value"))).toEqual(value);
      }),
    );
  });

  test.each([
    ["text with a zero and half a pair", "a\u0000\ud800"],
    ["nothing", null],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 })],
    ["nested arrays", [[], [{}]]],
    ["a member that is only called toJSON", { toJSON: 1 }],
  ])("takes %s", (_, value: unknown) => {
    expect(JSON.parse(encodeJson(value, "value"))).toEqual(value);
  });

  test("an undefined member is left out, as reading it would show", () => {
    expect(encodeJson({ a: undefined, b: 1 }, "value")).toBe('{"b":1}');
  });

  test("one object in two places is no cycle", () => {
    const shared = { a: 1 };
    expect(encodeJson([shared, { shared }], "value")).toBe('[{"a":1},{"shared":{"a":1}}]');
  });

  class Money {
    readonly amount = 1;
  }
  const cycle: Record<string, unknown> = {};
  cycle["again"] = { cycle };

  test.each([
    ["undefined", undefined, "it is undefined"],
    ["undefined in an array", { list: [1, undefined] }, "list[1] is undefined"],
    ["a hole in an array", { list: Object.assign([], { length: 1 }) }, "list[0] is undefined"],
    ["NaN", { n: Number.NaN }, "n is NaN"],
    ["infinity", [-Infinity], "[0] is -Infinity"],
    ["a bigint", { n: 1n }, "n is a bigint"],
    ["a function", { call: () => 1 }, "call is a function"],
    ["a symbol", [Symbol("s")], "[0] is a symbol"],
    ["a date", { at: new Date(0) }, "at is an instance of Date"],
    ["a map", new Map(), "it is an instance of Map"],
    ["bytes", { bytes: new Uint8Array(1) }, "bytes is an instance of Uint8Array"],
    ["an error", new Error("e"), "it is an instance of Error"],
    ["an instance of a class", [new Money()], "[0] is an instance of Money"],
    ["a toJSON of its own", { a: { toJSON: () => 1 } }, "a is an object with toJSON"],
    ["a cycle", cycle, "again.cycle is a reference to itself"],
  ])("refuses %s and says where it is", (_, value: unknown, where) => {
    const refused = () => encodeJson(value, "value");
    expect(refused).toThrow(expect.objectContaining({ code: "not_json" }));
    expect(refused).toThrow(where);
  });
});
