import { ProtocolError, type CallToolResult } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import { SlotGauge } from "./slot-gauge.ts";

/** An error with a member that is no ordinary data. */
function errorWith(member: string, value: unknown): Error {
  return Object.defineProperty(new Error("odd"), member, { value, configurable: true });
}

function refuse(): never {
  throw new Error("not even this");
}

function errorWhoseGetterThrows(member: string, error: Error = new Error("odd")): Error {
  return Object.defineProperty(error, member, { get: refuse, configurable: true });
}

const deep = JSON.parse("[".repeat(20_000) + "]".repeat(20_000)) as unknown;

const thrown: readonly (readonly [string, unknown])[] = [
  ["nothing", undefined],
  ["null", null],
  ["a string", "just text"],
  ["a symbol", Symbol("sign")],
  ["a BigInt", 10n],
  ["a function", () => 1],
  ["an object without a prototype", Object.create(null)],
  ["an object whose prototype has none", Object.create(Object.create(null) as object)],
  ["an object that has no text", { toString: null, valueOf: null }],
  ["an object whose text throws", { toString: () => errorWhoseGetterThrows("x") }],
  ["an error with a BigInt as its message", errorWith("message", 10n)],
  ["an error with a symbol as its message", errorWith("message", Symbol("sign"))],
  ["an error with an object without text as its message", errorWith("message", Object.create(null))],
  ["an error with a BigInt as its name", errorWith("name", 10n)],
  ["an error with a BigInt as its code", errorWith("code", 10n)],
  ["an error with data that refers to itself", errorWith("data", [globalThis])],
  ["an error with data that is nested too deeply", errorWith("data", deep)],
  ["an error whose message throws", errorWhoseGetterThrows("message")],
  ["an error of half a surrogate pair", new Error("\ud800")],
  ["a huge error", new Error("x".repeat(100_000))],
  ["a protocol error with huge data", new ProtocolError(-32000, "big", "x".repeat(100_000))],
  ["a protocol error with data that JSON cannot carry", new ProtocolError(-32000, "odd", { n: 10n })],
];

/** Throws whatever is done with it. */
const hostile: unknown = new Proxy(new Error("odd"), {
  get: refuse,
  has: refuse,
  getPrototypeOf: refuse,
  ownKeys: refuse,
});

const withThrowingGetters: readonly (readonly [string, unknown])[] = [
  ["an error whose name throws", errorWhoseGetterThrows("name")],
  ["an error whose code throws", errorWhoseGetterThrows("code")],
  ["an error whose data throws", errorWhoseGetterThrows("data")],
  ["a protocol error whose code throws", errorWhoseGetterThrows("code", new ProtocolError(-32000, "odd"))],
  ["a protocol error whose data throws", errorWhoseGetterThrows("data", new ProtocolError(-32000, "odd"))],
  ["a value that throws whatever is done with it", hostile],
];

const unreadable = {
  get a(): never {
    throw hostile; // eslint-disable-line typescript/only-throw-error -- what is tested
  },
};

const returned: readonly (readonly [string, unknown])[] = [
  ["nothing", undefined],
  ["null", null],
  ["an error", new Error("failed")],
  ["a map", new Map([["content", [1]]])],
  ["a date", new Date(0)],
  ["a response", new Response("x")],
  [
    "an instance of a class",
    new (class Report {
      readonly rows = 1;
    })(),
  ],
  ["a function", () => 1],
  ["a number that JSON has not", Number.NaN],
  ["data with a date in it", { at: new Date(0) }],
  ["content that is no list", { content: "x" }],
  ["a result that is nested too deeply", { content: [], structuredContent: { deep } }],
  ["a result that refers to itself", { content: [], structuredContent: { globalThis } }],
  ["a result of a class", { content: [], structuredContent: { at: new URL("http://a.test") } }],
  [
    "a result of an odd prototype",
    { content: [], structuredContent: { a: Object.create(Object.create(null) as object) } },
  ],
  ["a result with a BigInt", { content: [], structuredContent: { n: 10n } }],
];

/** Runs a tool as a task and directly; `steps` says whether a step "s" has to be in its journal. */
async function run(
  handler: Handler,
  steps = false,
): Promise<{ outcome: string; body: Record<string, unknown> }> {
  const gauge = new SlotGauge();
  const process = await Process.started({
    tools: { odd: handler, gauge: gauge.handler },
    options: { concurrency: 1, maxBodyBytes: 10_000 },
  });
  const ended = await process.ended(await process.callId("odd"));
  expect(await process.runInline("odd")).toEqual(ended.outcome);
  if (steps) expect(await process.store.journalEntry(ended.task.id, "s")).toMatchObject({ kind: "step" });
  expect(process.errors).toEqual([]);
  expect(await gauge.free(process)).toBe(1);
  expect(ended.outcome?.body.length).toBeLessThan(11_000);
  return { outcome: ended.outcome?.kind ?? "", body: bodyOf(ended) };
}

it("a step whose value throws what cannot be looked at has run, and does not run again", async () => {
  const handler: Handler = async (_, task) => {
    const failure: unknown = await task.step("s", () => unreadable).catch((error: unknown) => error);
    return text(String((failure as { code?: unknown }).code));
  };
  expect((await run(handler, true)).body).toEqual(text("not_json"));
});

describe("whatever a handler throws ends its task, and its direct run alike", () => {
  it.each([...thrown, ...withThrowingGetters])("%s", async (_, value) => {
    const handler: Handler = () => {
      throw value; // eslint-disable-line typescript/only-throw-error -- what is tested
    };
    const { outcome, body } = await run(handler);
    if (outcome === "error_result") expect(body).toMatchObject({ isError: true });
    else expect(body).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
  });

  it.each([...thrown, ...withThrowingGetters])("%s, from a step", async (_, value) => {
    const caught: unknown[] = [];
    const step = (task: TaskContext): Promise<unknown> =>
      task.step("s", () => {
        throw value; // eslint-disable-line typescript/only-throw-error -- what is tested
      });
    const handler: Handler = async (__, task) => {
      await step(task).catch((error: unknown) => caught.push(error));
      return text("went on");
    };
    expect((await run(handler, true)).body).toEqual(text("went on"));
    for (const error of caught) expect(error).toBeInstanceOf(Error);
    expect(caught).toHaveLength(2);
  });
});

describe("whatever a handler returns that is no result", () => {
  it.each(returned)("fails with an internal error that says why: %s", async (_, value) => {
    const { outcome, body } = await run(() => value as CallToolResult);
    expect([outcome, body["code"]]).toEqual(["error", -32603]);
    expect(body["message"]).toContain("ool odd");
  });

  it("is a result where only its content is left out", async () => {
    const structuredContent = { __proto__: null, n: 1 };
    const result = { structuredContent } as unknown as CallToolResult;
    expect((await run(() => result)).body).toEqual({ structuredContent: { n: 1 }, content: [] });
  });
});

it.each([Number.NaN, 1.5, Infinity, "E_CODE", undefined])(
  "a protocol error of code %s, which JSON-RPC has not, is an internal error [A-04]",
  async (code) => {
    const { body } = await run(() => {
      throw new ProtocolError(code as number, "odd code", { kept: true });
    });
    expect(body).toEqual({ code: -32603, message: "odd code", data: { kept: true } });
  },
);
