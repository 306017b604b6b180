import { describe, expect, it } from "vitest";
import { isTerminal } from "../../src/task/outcome.ts";
import { rest } from "../../src/testing/clocks.ts";
import { Process, text, type Handler, type Setup } from "./harness.ts";
import { storeFailed, type BeforeCall, type StoreCall } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const second = 1_000;

const wordOf = (result: { content?: readonly unknown[] }): string => JSON.stringify(result.content);

const tools: Readonly<Record<string, Handler>> = {
  root: async (_, task) => {
    const failed = task.call("fails", "fails").then(wordOf, () => "failed");
    const all = [task.call("a", "works", { n: 1 }), task.call("b", "asks"), task.call("c", "middle")];
    const [a, b, c] = await Promise.all(all);
    await task.step("sum", () => 1);
    return text([a, b, c].map((end) => end && wordOf(end)).join() + (await failed));
  },
  middle: async (_, task) => {
    await task.sleep("nap", second);
    return text(wordOf(await task.call("below", "works", { n: 2 })));
  },
  works: async ({ n }, task) => text(String(await task.step("double", () => Number(n) * 2))),
  asks: async (_, task) => {
    const { action } = await task.elicit("q", question);
    return text(action);
  },
  fails: async (_, task) => {
    await task.step("before", () => 1);
    throw new Error("broken");
  },
};

const reads: ReadonlySet<StoreCall> = new Set([
  "get",
  "request",
  "snapshot",
  "journal",
  "journalEnds",
  "journalEntry",
]);

type Fault = "crashes" | "fails once";

interface End {
  readonly writes: number;
  readonly outcome: string;
  readonly left: number;
}

/** What the tree has come to after a fault at its nth write, where its question is answered or it is cancelled. */
async function comesTo(frames: number, fault: Fault, nth: number, cancels: boolean): Promise<End> {
  const setup: Setup = {
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, handler]) => [name, { config: { onCrash: "resume" }, handler }]),
    ),
    options: { maxParkedFrames: frames, crashBackoffMs: 1, cancelGraceMs: second },
  };
  let count = 0;
  let crashed = false;
  const died = Promise.withResolvers<undefined>();
  const before: BeforeCall = async (call, id) => {
    if (id === undefined || reads.has(call)) return;
    if (++count === nth && fault === "fails once") throw storeFailed();
    crashed ||= count === nth;
    if (!crashed) return;
    died.resolve(undefined);
    await new Promise(() => undefined);
  };
  let process = await Process.started({ ...setup, before });
  const id = await process.callId("root");
  const goOn = async (dead?: Promise<undefined>): Promise<void> => {
    for (let round = 0; round < 8; round++) {
      for (let turn = 0; turn < 6; turn++) await rest();
      const reading = process.get(id);
      const seen = await (dead === undefined ? reading : Promise.race([reading, dead]));
      if (seen === undefined) return;
      const { inputs, task } = seen;
      // What is not acknowledged is asked for again.
      if (cancels && inputs.length > 0) void process.cancel(id).catch(() => undefined);
      if (!cancels) for (const { key } of inputs) void process.answer(id, key, yes).catch(() => undefined);
      await process.clock.advance(isTerminal(task.state) ? 2 * second : 400);
    }
  };
  await goOn(died.promise);
  if (crashed) process = await process.crash(setup);
  await goOn();
  await process.clock.advance(5 * second);
  await goOn();
  const { task, outcome } = await process.get(id);
  const left = await process.store.unfinished("", 99);
  return { writes: count, outcome: `${task.state} ${outcome?.body}`, left: left.length };
}

describe.each([
  ["a tree of calls", false],
  ["a tree of calls that is cancelled", true],
] as const)("%s", (_, cancels) => {
  it.each(["crashes", "fails once"] as const)("comes to the same (%s)", async (fault) => {
    for (const frames of [0, 100]) {
      const whole = await comesTo(frames, fault, Infinity, cancels);
      expect(whole).toMatchObject({
        left: 0,
        outcome: cancels ? "cancelled undefined" : expect.stringMatching(/^settled .*2.*accept.*4.*failed/),
      });
      expect(whole.writes).toBeGreaterThan(12);
      for (let nth = 1; nth <= whole.writes; nth++) {
        const { outcome, left } = await comesTo(frames, fault, nth, cancels);
        expect({ frames, nth, outcome, left }).toEqual({ frames, nth, outcome: whole.outcome, left: 0 });
      }
    }
  });
});
