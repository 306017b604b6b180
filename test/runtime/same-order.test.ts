import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import { fullForm } from "../full-form.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock } from "../../src/testing/clocks.ts";
import { nobody, Process, text, type Handler } from "./harness.ts";
import { slowStore, turns, type Delays } from "./slow-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const value = JSON.stringify({ action: "accept", content: {} });

/** What a branch of the handler does next, after so many microtasks. */
interface Call {
  readonly kind: "step" | "sleep" | "ask" | "ask in time" | "event" | "event in time" | "status";
  readonly turns: number;
  readonly microtasks: number;
}

/** What happens outside while an attempt runs. */
type Event =
  | { readonly kind: "answer"; readonly count: number; readonly from: number }
  | { readonly kind: "event"; readonly count: number }
  | { readonly kind: "time"; readonly ms: number }
  | { readonly kind: "nothing"; readonly turns: number };

const small = fc.nat({ max: 4 });
const call: fc.Arbitrary<Call> = fc.record({
  kind: fc.constantFrom(
    "step",
    "step",
    "sleep",
    "ask",
    "ask",
    "ask in time",
    "event",
    "event in time",
    "status",
  ),
  turns: small,
  microtasks: fc.nat({ max: 12 }),
});
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant("answer" as const), count: fc.integer({ min: 1, max: 3 }), from: small }),
  fc.record({ kind: fc.constant("event" as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant("time" as const), ms: fc.nat({ max: 3 }) }),
  fc.record({ kind: fc.constant("nothing" as const), turns: small }),
);
const branches = fc.array(fc.array(call, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 5 });
const lives = fc.array(fc.array(event, { maxLength: 10 }), { minLength: 2, maxLength: 4 });
const delays = fc.array(fc.nat({ max: 3 }), { minLength: 5, maxLength: 40 });

/** Runs all branches, and notes each end in `seen` at the moment at which its branch goes on. */
function handlerOf(program: readonly (readonly Call[])[], seen: string[]): Handler {
  return async (_, task) => {
    const run = async (calls: readonly Call[], branch: number): Promise<void> => {
      for (const [index, each] of calls.entries()) {
        for (let n = 0; n < each.microtasks; n++) await Promise.resolve();
        await begin(task, each, `${branch}.${index}`);
        if (each.kind !== "status") seen.push(`${branch}.${index}`);
      }
    };
    await Promise.all(program.map(run));
    return text("done");
  };
}

function begin(task: TaskContext, { kind, turns: count }: Call, key: string): Promise<unknown> {
  if (kind === "step") return task.step(key, () => turns(count));
  if (kind === "sleep") return task.sleep(key, count);
  if (kind === "ask") return task.elicit(key, question);
  if (kind === "ask in time") return task.elicit(key, question, { timeoutMs: count }).catch(() => undefined);
  if (kind === "event") return task.waitForEvent(key, "tick");
  if (kind === "event in time")
    return task.waitForEvent(key, "tick", { timeoutMs: count }).catch(() => undefined);
  return task.status(key);
}

async function happen(process: Process, id: string, what: Event): Promise<void> {
  if (what.kind === "time") return process.clock.advance(what.ms);
  if (what.kind === "nothing") return turns(what.turns);
  if (what.kind === "event") {
    for (let n = 0; n < what.count; n++)
      process.runtime.sendEvent(id, { name: "tick" }).catch(() => undefined);
    return;
  }
  const { inputs = [] } = (await process.store.snapshot(id)) ?? {};
  const chosen = [...inputs.slice(what.from), ...inputs].slice(0, what.count);
  const answers = chosen.reverse().map(({ key }) => ({ key, value }));
  // It is on its way while other things happen.
  process.runtime.answer(id, nobody, answers).catch(() => undefined);
}

it(
  "each attempt sees the ends that the one before it saw, in the same order",
  { timeout: 1_800_000 },
  async () => {
    let replayed = 0;
    const property = fc.asyncProperty(branches, lives, delays, async (program, events, times) => {
      let next = 0;
      const delay: Delays = () => times[next++ % times.length] ?? 0;
      const store = new CrashableStore((inner) => slowStore(inner, delay));
      const logs: string[][] = [];
      const setup = () => {
        const seen: string[] = [];
        logs.push(seen);
        const tool = { config: { onCrash: "resume" as const }, handler: handlerOf(program, seen) };
        const options = { maxCrashes: 99, crashBackoffMs: 1, maxCrashBackoffMs: 1 };
        return { tools: { tool }, options, before: () => turns(delay()) };
      };
      let process = new Process(setup(), new FakeClock(), store);
      await process.runtime.start();
      const id = await process.callId("tool");
      for (const each of events) {
        for (const what of each) await happen(process, id, what);
        process = await process.crash(setup());
      }
      for (let round = 0; round < 40; round++) {
        await happen(process, id, { kind: "answer", count: 9, from: 0 });
        await happen(process, id, { kind: "event", count: 1 });
        await process.clock.advance(1);
      }
      await process.ended(id);
      for (const [attempt, seen] of logs.entries()) {
        const before = logs[attempt - 1] ?? [];
        expect(seen.slice(0, before.length)).toEqual(before.slice(0, seen.length));
        replayed += Math.min(before.length, seen.length);
      }
      await process.runtime.stop();
    });
    await fc.assert(property, { numRuns: fullForm ? 2_000 : 50 });
    expect(replayed).toBeGreaterThan(100);
  },
);
