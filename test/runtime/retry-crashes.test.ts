import { describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { isTerminal } from "../../src/task/outcome.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";
import { storeFailed, type BeforeCall, type StoreCall } from "./watched-store.ts";

const writes: ReadonlySet<StoreCall> = new Set([
  "create",
  "mark",
  "record_step",
  "retry_step",
  "sleep",
  "end_sleep",
  "update",
  "park",
  "release",
  "retry",
  "wake",
  "claim",
  "settle",
]);

const attempts = 3;
const retries = 2;
const options = { retries, backoff: { firstMs: 2_000 } };

/** What the handlers did: how often each step ran, by its key, and how often they threw. */
class Deeds {
  readonly ran = new Map<string, number>();
  threw = 0;

  run(key: string): void {
    this.ran.set(key, (this.ran.get(key) ?? 0) + 1);
  }
}

const handlers: Readonly<Record<string, (task: TaskContext, deeds: Deeds) => Promise<unknown>>> = {
  "a step that fails for good": async (task, deeds) => {
    await task.step("good", () => deeds.run("good"));
    await task.step("bad", options, () => {
      deeds.run("bad");
      throw new Error("busy");
    });
  },
  "steps that fail beside each other, and a sleep": async (task, deeds) => {
    const fails = (key: string): Promise<void> =>
      task.step(key, options, () => {
        deeds.run(key);
        throw new Error("busy");
      });
    const good = task.sleep("nap", 1_000).then(() => task.step("good", () => deeds.run("good")));
    await Promise.allSettled([fails("bad"), fails("worse"), good]);
    throw new Error("busy");
  },
  "a handler that fails by itself": async (task, deeds) => {
    await task.step("good", () => deeds.run("good"));
    await task.status("soon");
    throw new Error("busy");
  },
};

type Fault = "crashes" | "fails once";

/** What a task has come to after a fault at its nth write. */
async function comesTo(name: string, maxParkedFrames: number, fault: Fault, nth: number) {
  const deeds = new Deeds();
  const handler: Handler = async (_, task) => {
    try {
      await handlers[name]?.(task, deeds);
      return text("never");
    } catch (error) {
      if (!task.signal.aborted) deeds.threw++;
      throw error;
    }
  };
  const config = { retry: { attempts, backoff: { firstMs: 3_000 } } };
  const setup = { tools: { tool: { config, handler } }, options: { maxParkedFrames } };
  let count = 0;
  let crashed = false;
  const before: BeforeCall = async (call) => {
    if (!writes.has(call)) return;
    if (++count === nth && fault === "fails once") throw storeFailed();
    crashed ||= count === nth;
    if (crashed) await new Promise(() => undefined);
  };
  let process = new Process({ ...setup, before });
  await process.runtime.start();
  count = 0;
  const id = await Promise.race([process.callId("tool").catch(() => ""), process.clock.advance(0)]);
  if (typeof id !== "string" || id === "") return undefined; // it never began
  for (let round = 0; round < 60; round++) {
    if (crashed) {
      crashed = false;
      count = Number.NEGATIVE_INFINITY;
      process = await process.crash(setup);
    }
    await process.clock.advance(1_000);
    if (isTerminal((await process.store.get(id))?.state ?? "queued")) break;
  }
  const snapshot = await process.get(id);
  const { entries } = await process.store.journal(id, "", 99);
  return {
    writes: count,
    body: bodyOf(snapshot),
    failures: snapshot.task.failures,
    tries: entries.map(({ key, tries }) => `${key} ${tries}`).sort(),
    deeds,
  };
}

describe.each(Object.keys(handlers))("%s", (name) => {
  describe.each(["crashes", "fails once"] as const)(
    "where the store or the process %s at a write",
    (fault) => {
      it.each([0, 100])("is tried as often as allowed, with %i frames kept", async (frames) => {
        const whole = await comesTo(name, frames, fault, Infinity);
        if (whole === undefined) throw new Error("It did not begin.");
        expect(whole).toMatchObject({ failures: attempts - 1, body: { isError: true } });
        expect(whole.deeds.threw).toBe(attempts);
        expect(whole.deeds.ran.get("good")).toBe(1);
        for (let nth = 1; nth <= whole.writes; nth++) {
          const { body, failures, tries, deeds } = (await comesTo(name, frames, fault, nth)) ?? whole;
          expect({ nth, body, failures, tries }).toEqual({
            nth,
            body: whole.body,
            failures: whole.failures,
            tries: whole.tries,
          });
          // What was under way is done once more.
          for (const [key, runs] of whole.deeds.ran) {
            const ran = deeds.ran.get(key) ?? 0;
            expect({ nth, key, ran: Math.max(ran, runs) - runs }).toEqual({
              nth,
              key,
              ran: expect.toBeOneOf([0, 1]),
            });
            expect(ran).toBeGreaterThanOrEqual(runs);
          }
        }
      });
    },
  );
});
