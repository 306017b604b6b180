import { deepStrictEqual } from "node:assert";
import * as fc from "fast-check";
import { ProtocolError } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../src/task/fault.ts";
import { encodeJson } from "../../src/task/stored-text.ts";
import { NonRetryableError } from "../../src/index.ts";
import { decodeError, decodeValue, encodeError, encodeValue } from "../../src/runtime/stored-values.ts";

const source = { what: "The result", name: "result", maxBytes: 1_000_000 };

function again(value: unknown): unknown {
  return decodeValue(encodeValue(value, source));
}

/** An error with what is journalled of it, as plain data. */
function parts(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, code, data, cause, errors } = error as unknown as Record<string, unknown>;
  return {
    name,
    message,
    code,
    data,
    cause: parts(cause),
    errors: Array.isArray(errors) ? errors.map(parts) : errors,
  };
}

const leaf = fc.oneof(
  fc.constant(undefined),
  fc.bigInt(),
  fc.date({ noInvalidDate: false }),
  fc.double(),
  fc.uint8Array(),
  fc.float64Array(),
  fc.webUrl().map((text) => new URL(text)),
  fc.constantFrom(/a\/b/giu, -0, Number.NaN, Buffer.from("bytes"), new Uint8Array([1, 2]).buffer),
  fc.string(),
);
const key = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "prototype",
    "",
    "a.b",
    "\\",
    "holdfast/value",
    "0",
    "toString",
  ),
);
const { tree: value } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.array(tie("tree"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("tree")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
    fc.array(fc.tuple(leaf, tie("tree")), { maxLength: 4 }).map((entries) => new Map(entries)),
    fc.array(tie("tree"), { maxLength: 4 }).map((members) => new Set(members)),
  ),
}));
const jsonValue = fc.jsonValue().map((json): unknown => JSON.parse(JSON.stringify(json)));

describe("a value in the journal", () => {
  it("comes back as it was", () => {
    fc.assert(
      fc.property(value, (given) => {
        deepStrictEqual(again(given), given);
      }),
      { numRuns: 500 },
    );
  });

  it("is stored as its JSON where it is plain data, as ever", () => {
    fc.assert(
      fc.property(jsonValue, (given) => {
        expect(encodeValue(given, source)).toBe(JSON.stringify(given));
        expect(decodeValue(JSON.stringify(given))).toEqual(given);
      }),
    );
  });

  it("stays readable where it is more than that", () => {
    const at = new Date(0);
    const rows = new Map([["a", { at, bytes: new Uint8Array([104, 105]), size: 10n }]]);
    expect(JSON.parse(encodeValue({ rows }, source))).toMatchObject({
      "holdfast/value": { rows: [["a", { at: "1970-01-01T00:00:00.000Z", bytes: "aGk=", size: "10" }]] },
    });
  });

  it("keeps one object in two places one object", () => {
    const shared = { at: new Date(0) };
    const { a, b } = again({ a: shared, b: [shared] }) as { a: unknown; b: unknown[] };
    expect(b[0]).toBe(a);
  });

  it("keeps the errors in it, of the classes that handlers tell apart", async () => {
    const settled = await Promise.allSettled([
      Promise.reject(new NonRetryableError("never")),
      Promise.resolve(1n),
    ]);
    const [first, second] = again(settled) as typeof settled;
    expect(first).toMatchObject({ status: "rejected", reason: { message: "never" } });
    expect((first as PromiseRejectedResult).reason).toBeInstanceOf(NonRetryableError);
    expect(second).toEqual({ status: "fulfilled", value: 1n });
  });

  class Money {
    readonly amount = 5n;
    get text(): string {
      return `${this.amount}`;
    }
  }
  class Id {
    toJSON(): unknown {
      return { id: new Date(0) };
    }
  }

  it("has the data of instances of classes, and says so once", () => {
    const said: string[] = [];
    const onInstance = (path: string, className: string): void => void said.push(`${path}: ${className}`);
    const given = { rows: [{ price: new Money() }, { price: new Money() }], id: new Id() };
    expect(decodeValue(encodeValue(given, { ...source, onInstance }))).toEqual({
      rows: [{ price: { amount: 5n } }, { price: { amount: 5n } }],
      id: { id: new Date(0) },
    });
    expect(said).toEqual(["result.rows[0].price: Money"]);
  });

  const cycle: Record<string, unknown> = {};
  cycle["again"] = { cycle };
  const unreadable = {
    get secret(): never {
      throw new Error("not for you");
    },
  };

  it.each([
    ["a function", { items: [0, 1, 2, { handler: () => 1 }] }, "result.items[3].handler is a function"],
    ["a symbol", [Symbol("s")], "result[0] is a symbol"],
    ["a function in a map", new Map([["a", () => 1]]), 'result.get("a") is a function'],
    ["a function behind an odd name", { "a b": () => 1 }, 'result["a b"] is a function'],
    [
      "a function of an instance",
      [
        new (class {
          run = () => 1;
        })(),
      ],
      "result[0].run is a function",
    ],
    ["a cycle", cycle, "result.again.cycle is a reference to an object that contains it"],
    ["a value that cannot be read", unreadable, "result cannot be read (not for you)"],
  ])("is no %s", (_, given: unknown, reason) => {
    const message = `The result cannot be stored: ${reason}.`;
    expect(() => encodeValue(given, source)).toThrow(expect.objectContaining({ code: "not_json", message }));
  });

  it("is no larger than it may be", () => {
    const encode = (): string => encodeValue("x".repeat(10), { ...source, maxBytes: 11 });
    expect(encode).toThrow(expect.objectContaining({ code: "too_large" }));
  });

  it("is refused before it is written if its strings alone are too large", () => {
    // Written, what follows the string would be found first.
    const given = { text: "x".repeat(12), odd: () => 1 };
    const encode = (): string => encodeValue(given, { ...source, maxBytes: 11 });
    expect(encode).toThrow(expect.objectContaining({ code: "too_large" }));
  });

  it("is no larger than a string can be, whatever the limit", () => {
    const text = "x".repeat(2 ** 28);
    const given = [text, text];
    const message = "The result is larger than 536870888 bytes, the most that a string of JavaScript allows.";
    const refusal = expect.objectContaining({ code: "too_large", message }) as Error;
    expect(() => encodeValue(given, { ...source, maxBytes: 2 ** 32 })).toThrow(refusal);
    expect(() => encodeJson(given, "The result", 2 ** 32)).toThrow(refusal);
  });

  it("is damaged where what is known of its parts does not fit", () => {
    const damaged = '{"holdfast/value":{"a":1},"types":{"values":{"a":["custom","no such"]},"v":1}}';
    expect(() => decodeValue(damaged)).toThrow(SyntaxError);
  });
});

describe("an error in the journal", () => {
  const closed = Object.assign(new Error("socket closed"), { code: "ECONNRESET" });
  const circular = new Error("outer", { cause: new Error("inner") });
  (circular.cause as Error).cause = circular;

  it.each<[string, Error]>([
    ["a built-in error", new TypeError("no such row")],
    ["causes, with their codes", new Error("failed", { cause: new Error("again", { cause: closed }) })],
    ["data of any kind", Object.assign(new Error("x"), { data: { at: new Date(0), n: 1n } })],
    ["data that looks encoded", Object.assign(new Error("x"), { data: { "holdfast/value": 1 } })],
    ["a cause that is no error", new Error("x", { cause: { status: 404, at: new Date(0) } })],
    ["errors of an aggregate", new AggregateError([closed, "text"], "all failed")],
    [
      "a protocol error with a cause",
      Object.assign(new ProtocolError(-32_000, "x", { a: 1 }), { cause: closed }),
    ],
    ["a fault with a cause", new HoldfastError("no_request", "x", { data: 1, cause: closed })],
    ["a name of its own", Object.defineProperty(new Error("x"), "name", { value: "AbortError" })],
  ])("keeps %s", (_, error) => {
    const stored = decodeError(encodeError(error, 10_000));
    expect(parts(stored)).toEqual(parts(error));
    expect(stored).toBeInstanceOf(
      [TypeError, AggregateError, ProtocolError, HoldfastError].find((each) => error instanceof each) ??
        Error,
    );
    expect(stored).not.toBe(error);
  });

  it("has an end where its causes go round in a circle, or are too many", () => {
    expect(parts(decodeError(encodeError(circular, 10_000)))).toMatchObject({
      message: "outer",
      cause: { message: "inner", cause: undefined },
    });
    let chain = new Error("0");
    for (let n = 1; n <= 50; n++) chain = new Error(String(n), { cause: chain });
    let depth = 0;
    for (let at: unknown = decodeError(encodeError(chain, 10_000)); at instanceof Error; at = at.cause)
      depth++;
    expect(depth).toBe(11);
  });

  it("loses its causes, and then its data, before its message", () => {
    const large = "x".repeat(1_000);
    const withCause = new Error("kept", { cause: new Error(large) });
    expect(parts(decodeError(encodeError(withCause, 200)))).toMatchObject({ message: "kept" });
    const withData = Object.assign(new Error("kept"), { code: "E", data: large });
    expect(parts(decodeError(encodeError(withData, 200)))).toMatchObject({ message: "kept", code: "E" });
  });

  it("keeps what was thrown where that is no error", () => {
    const error = decodeError(encodeError({ status: 404 }, 1_000));
    expect(parts(error)).toMatchObject({ name: "Error", message: '{"status":404}', cause: { status: 404 } });
    const said = { message: "no such row", status: 404 };
    expect(parts(decodeError(encodeError(said, 1_000)))).toMatchObject({
      message: "no such row",
      cause: said,
    });
  });

  it("shows operators the stacks of what was thrown, in the run that stored it", () => {
    const error = new Error("outer", { cause: closed });
    const stored = decodeError(encodeError(error, 10_000), error);
    expect([stored.stack, (stored.cause as Error).stack]).toEqual([error.stack, closed.stack]);
  });

  it("is read as it was stored before it had causes", () => {
    const stored = '{"name":"RangeError","message":"m","code":7,"data":{"a":1}}';
    expect(parts(decodeError(stored))).toMatchObject({
      name: "RangeError",
      message: "m",
      code: 7,
      data: { a: 1 },
    });
    expect(encodeError(Object.assign(new RangeError("m"), { code: 7, data: { a: 1 } }), 1_000)).toBe(stored);
  });
});
