import { describe, expect, it } from "vitest";
import { rest } from "../../src/testing/clocks.ts";
import { Process, text, type Handler } from "./harness.ts";
import { storeFailed, type BeforeCall, type StoreCall } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const long = 1_000_000;

const handlers: Readonly<Record<string, Handler>> = {
  "steps, changes and a second question beside a question": async (_, task) => {
    const besides = async (): Promise<void> => {
      await task.step("s1", () => 1);
      await task.status("one");
      await task.step("s2", () => 2);
      const second = task.elicit("q2", question, { timeoutMs: long });
      await task.step("s3", () => 3);
      await Promise.race([second, task.sleep("late", long)]);
      await task.step("never", () => 4);
    };
    await Promise.all([task.elicit("q", question), besides()]);
    return text("done");
  },
  "waits that begin together": async (_, task) => {
    await Promise.all([
      task.sleep("z1", long),
      task.elicit("a", question),
      task.sleep("z2", 2 * long),
      task.elicit("b", question),
      task.step("s", () => 1).then(() => task.elicit("c", question)),
    ]);
    return text("done");
  },
  "what follows from an answer, beside a sleep": async (_, task) => {
    const late = task.sleep("late", long);
    await task.elicit("first", question);
    const after = task.elicit("n1", question).then(() => task.step("never", () => 1));
    await task.extend(10 * long);
    await task.elicit("n2", question);
    await Promise.all([late, after]);
    return text("done");
  },
  "waits for events, one of which is given up, beside a question": async (_, task) => {
    const late = task.waitForEvent("late", "late", { timeoutMs: 100 }).catch(() => "late");
    const soon = task.waitForEvent("soon", "soon", { timeoutMs: long });
    await task.elicit("first", question);
    await task.step(`saw ${String(await late)}`, () => 1);
    await Promise.all([task.waitForEvent("other", "other"), task.elicit("q", question)]);
    return text(String(await soon));
  },
  "rounds of a loop, with a step, a question that stays open and a short sleep": async (_, task) => {
    await task.loop("loop", 1, async (count, round) => {
      await round.step("s", () => count);
      const open = round.elicit("q", question);
      if (count === 3) await open;
      await round.sleep("short", 10);
      return round.next(count + 1);
    });
    return text("done");
  },
  "a chain of steps, changes and a short sleep beside a question": async (_, task) => {
    const open = task.elicit("q", question);
    for (let n = 0; n < 4; n++) {
      await task.step(["s", n], () => n);
      task.progress(n);
      if (n % 2 === 1) await task.pollInterval(1_000 + n);
    }
    await task.sleep("short", 10);
    await task.step("end", () => 1);
    await open;
    return text("done");
  },
};

const writes: ReadonlySet<StoreCall> = new Set([
  "mark",
  "record_step",
  "open_input",
  "wait_event",
  "close_wait",
  "sleep",
  "end_sleep",
  "update",
  "next_round",
  "park",
]);

type Fault = "crashes" | "fails once";

/** What a task has come to where only the question `first` is answered, after a fault at its nth write. */
async function comesTo(handler: Handler, maxParkedFrames: number, fault: Fault, nth: number) {
  const setup = {
    tools: { tool: { config: { onCrash: "resume" as const }, handler } },
    options: { maxParkedFrames },
  };
  let count = 0;
  let crashed = false;
  const before: BeforeCall = async (call) => {
    if (!writes.has(call)) return;
    if (++count === nth && fault === "fails once") throw storeFailed();
    crashed ||= count === nth;
    if (crashed) await new Promise(() => undefined);
  };
  let process = await Process.started({ ...setup, before });
  const id = await process.callId("tool");
  const goOn = async (): Promise<void> => {
    for (let round = 0; round < 6; round++) {
      for (let turn = 0; turn < 5; turn++) await rest();
      const { inputs } = await process.get(id);
      if (inputs.some(({ key }) => key === "first")) await process.answer(id, "first", yes);
      await process.clock.advance(50);
    }
  };
  await goOn();
  if (crashed) process = await process.crash(setup);
  await goOn();
  await process.clock.advance(2_000); // a write that failed is tried again
  await goOn();
  const { entries } = await process.store.journal(id, "", 99);
  const { task } = await process.get(id);
  return {
    writes: count,
    journal: entries.map(({ key, doneAt }) => `${key} ${doneAt === null ? "open" : "ended"}`).sort(),
    rests: task.waiting && task.runAfter !== null,
  };
}

describe.each(Object.keys(handlers))("%s", (name) => {
  const handler = handlers[name] ?? (() => text("none"));

  describe.each(["crashes", "fails once"] as const)(
    "a store that fails, or a process that dies (%s)",
    (fault) => {
      it.each([0, 1, 100])("does nothing less, with %i frames kept", async (frames) => {
        const whole = await comesTo(handler, frames, fault, Infinity);
        expect(whole.rests).toBe(true);
        for (let nth = 1; nth <= whole.writes; nth++) {
          const { journal, rests } = await comesTo(handler, frames, fault, nth);
          expect({ nth, journal, rests }).toEqual({ nth, journal: whole.journal, rests: true });
        }
      });
    },
  );
});
