import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyedHash, requestHash } from "../../src/runtime/call-keys.ts";
import { Process, text, type Handler } from "./harness.ts";

/** The same value with the keys of all its objects the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

/** As JSON has it, where 0 and -0 are one. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const unequal = (values: readonly unknown[]): number => new Set(values.map((each) => requestHash(each))).size;

describe("the hash of a request", () => {
  it("does not depend on the order of keys, at any depth [A-48]", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(requestHash("tool", reversed(value))).toBe(requestHash("tool", value));
      }),
    );
  });

  it("tells different requests apart [A-48]", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        fc.pre(!isDeepStrictEqual(asJson(a), asJson(b)));
        expect(requestHash(a)).not.toBe(requestHash(b));
      }),
    );
    const alike = [
      {},
      [],
      null,
      "",
      0,
      false,
      "{}",
      [[]],
      [null],
      { a: null },
      { a: 1 },
      { "a:1": 1 },
      ["a", 1],
    ];
    expect(unequal(alike)).toBe(alike.length);
    expect(requestHash("a", "b")).not.toBe(requestHash("ab"));
    expect(requestHash(["a"], "b")).not.toBe(requestHash("a", ["b"]));
  });

  it("tells a member __proto__ from none", () => {
    expect(requestHash(JSON.parse('{"__proto__":{"a":1}}'))).not.toBe(requestHash({}));
  });

  it("takes halves of surrogate pairs, and tells them apart", () => {
    const halves = ["\ud800", "\udc00", "\ud800\ud800", "\ufffd", "\u{10000}"];
    expect(unequal(halves)).toBe(halves.length);
    expect(unequal(halves.map((key) => ({ [key]: 1 })))).toBe(halves.length);
  });

  it("takes an absent and an undefined member for the same", () => {
    expect(requestHash({ a: undefined, b: [undefined] })).toBe(requestHash({ b: [null] }));
  });
});

describe("a call", () => {
  const hello: Handler = () => text("hi");

  it("with half a surrogate pair in its arguments is taken, and found again by its key [A-48]", async () => {
    const process = await Process.started({ tools: { hello } });
    const call = { idempotencyKey: "k".repeat(30), arguments: { "\udc00": "\ud800" } };
    const id = await process.callId("hello", call);
    await process.ended(id);
    expect(await process.callId("hello", call)).toBe(id);
    const other = process.call("hello", { ...call, arguments: { "\udc00": "\ud801" } });
    await expect(other).rejects.toMatchObject({ code: "idempotency_conflict" });
  });

  it("with half a surrogate pair in a question asks it", async () => {
    const requestedSchema = { type: "object" as const, properties: {} };
    const asks: Handler = async (_, task) =>
      text((await task.elicit("q", { message: "\ud800", requestedSchema })).action);
    const process = await Process.started({ tools: { asks } });
    const { inputs } = await process.asked(await process.callId("asks"));
    expect(JSON.parse(inputs[0]?.params ?? "")).toMatchObject({ message: "\ud800" });
  });

  it("that is nested too deeply is refused as one with wrong arguments", async () => {
    const process = await Process.started({ tools: { hello } });
    const deep = JSON.parse("[".repeat(20_000) + "]".repeat(20_000)) as unknown;
    await expect(process.call("hello", { arguments: { deep } })).rejects.toMatchObject({
      code: "invalid_params",
      message: "The arguments are nested too deeply.",
    });
  });

  it("that is no JSON is refused by what is wrong with it", async () => {
    const process = await Process.started({ tools: { hello } });
    await expect(process.call("hello", { arguments: { id: 1n } })).rejects.toMatchObject({
      code: "invalid_params",
      message: expect.stringContaining("BigInt") as string,
    });
  });
});

it("a keyed hash is of the same request only with the same key", () => {
  const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const hash = keyedHash(one, "t", { a: 1, b: 2 });
  expect(hash).toBe(keyedHash(one, "t", { b: 2, a: 1 }));
  for (const other of [
    requestHash("t", { a: 1, b: 2 }),
    keyedHash(two, "t", { a: 1, b: 2 }),
    keyedHash(one, "t", { a: 1 }),
  ])
    expect(other).not.toBe(hash);
});
