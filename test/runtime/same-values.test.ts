import { deepStrictEqual } from "node:assert";
import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };

/** What a handler saw in its runs, in a process that drops each handler that waits, and how often its step ran. */
async function seenBy(
  work: (task: TaskContext, effect: () => void) => Promise<unknown>,
  options: { readonly maxBodyBytes?: number; readonly maxJournalBytes?: number } = {},
) {
  const seen: unknown[] = [];
  let effects = 0;
  const handler: Handler = async (_, task) => {
    seen.push(await work(task, () => effects++));
    await task.elicit("q", question);
    await task.elicit("r", question);
    return text("done");
  };
  const process = await Process.started({ tools: { handler }, options: { maxParkedFrames: 0, ...options } });
  const id = await process.callId("handler");
  for (const key of ["q", "r"]) {
    await process.asked(id);
    await process.answer(id, key, yes);
  }
  expect(bodyOf(await process.ended(id))).toEqual(text("done"));
  expect(seen).toHaveLength(3);
  return { seen, effects, errors: process.errors, process };
}

class Row {
  readonly id = 7n;
  get url(): string {
    return `/rows/${this.id}`;
  }
}

const values: readonly (readonly [string, () => unknown])[] = [
  ["dates, big integers, maps and sets", () => new Map([[1n, new Set([new Date(0)])]])],
  ["bytes, addresses and patterns", () => [Buffer.from("a"), new URL("http://a.test/"), /a/g]],
  ["undefined members", () => ({ a: undefined, list: [undefined, 1] })],
  ["errors", () => [new TypeError("no", { cause: new Error("why") })]],
  ["instances of classes", () => ({ rows: [new Row()] })],
];

describe("a handler that runs again sees the value that it saw first", () => {
  it.each(values)("of a step: %s", async (_, value) => {
    const { seen, effects } = await seenBy((task, effect) => task.step("s", () => (effect(), value())));
    for (const again of seen) deepStrictEqual(again, seen[0]);
    expect([seen[0], effects]).toEqual([value() instanceof Map ? value() : seen[0], 1]);
  });

  it("of an event", async () => {
    const value = { at: new Date(0), rows: new Map([["a", 1n]]) };
    const seen: unknown[] = [];
    const handler: Handler = async (_, task) => {
      seen.push(await task.waitForEvent("wait", "paid"));
      await task.elicit("q", question);
      return text("done");
    };
    const process = await Process.started({ tools: { handler }, options: { maxParkedFrames: 0 } });
    const id = await process.callId("handler");
    await process.runtime.sendEvent(id, { name: "paid", value });
    await process.asked(id);
    await process.answer(id, "q", yes);
    await process.ended(id);
    expect(seen).toEqual([value, value]);
  });

  it("of an instance, without its class, which is said once for all steps of the name", async () => {
    const { seen, errors } = await seenBy(async (task) => [
      await task.step(["row", 1], () => ({ items: [new Row()] })),
      await task.step(["row", 2], () => new Row()),
    ]);
    expect(seen[0]).toEqual([{ items: [{ id: 7n }] }, { id: 7n }]);
    expect(errors).toEqual([
      expect.objectContaining({
        code: "not_json",
        message: expect.stringContaining("an instance of Row (result.items[0])") as string,
      }),
    ]);
  });
});

const failures: readonly (readonly [string, () => unknown])[] = [
  [
    "an error with causes",
    () => {
      const cause = Object.assign(new Error("socket closed"), { code: "ECONNRESET" });
      throw new TypeError("fetch failed", { cause: new Error("no answer", { cause }) });
    },
  ],
  [
    "errors of several",
    () => Promise.any([Promise.reject(new Error("a")), Promise.reject(new RangeError("b"))]),
  ],
  ["a text that is no JSON", (): unknown => JSON.parse("{")],
  ["a result that is too large", () => "x".repeat(2_000)],
  ["a result that fills the journal", () => "x".repeat(900)],
  ["a result that cannot be stored", () => ({ items: [() => 1] })],
  [
    "a cyclic result",
    () => {
      const rows: unknown[] = [new Row()];
      return rows.concat([rows], Object.assign(rows, { 1: rows }));
    },
  ],
];

describe("a handler that runs again sees the error that it caught first", () => {
  it.each(failures)("%s, and its step does not run again", async (_, fail) => {
    const { seen, effects, errors } = await seenBy(
      (task, effect) =>
        task
          .step("s", () => {
            effect();
            return fail();
          })
          .catch((error: unknown) => error),
      { maxBodyBytes: 1_000, maxJournalBytes: 500 },
    );
    expect(seen[0]).toBeInstanceOf(Error);
    for (const again of seen) deepStrictEqual(again, seen[0]);
    expect(effects).toBe(1);
    expect(errors).toEqual([]);
  });
});

it("refuses functions and symbols of steps, in TypeScript before they run", async () => {
  const ends: unknown[] = [];
  const handler: Handler = async (_, task) => {
    const steps = [
      // @ts-expect-error -- a function has no place in a journal
      task.step("a", () => () => 1),
      // @ts-expect-error -- nor one that a promise resolves with
      task.step("b", async () => (row: Row) => row.id),
      // @ts-expect-error -- nor a class
      task.step("c", () => Row),
      // @ts-expect-error -- nor a symbol
      task.step("d", { retries: 1 }, () => Symbol("s")),
      // @ts-expect-error -- nor a list of functions
      task.step("e", () => [() => 1]),
      // @ts-expect-error -- nor one that may be there
      task.step("f", () => (ends.length === 0 ? () => 1 : 2)),
    ];
    for (const end of await Promise.allSettled(steps)) {
      ends.push(end.status === "rejected" && (end.reason as { code: unknown }).code);
    }
    return text("done");
  };
  const process = await Process.started({ tools: { handler } });
  await process.ended(await process.callId("handler"));
  expect(ends).toEqual(Array.from({ length: 6 }, () => "not_json"));
});
