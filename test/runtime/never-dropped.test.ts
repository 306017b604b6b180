import * as fc from "fast-check";
import { expect, it } from "vitest";
import { isTerminal } from "../../src/task/outcome.ts";
import { fullForm } from "../full-form.ts";
import { nobody } from "./harness.ts";
import { eventNames, pausesOutside, programs } from "./random-handlers.ts";
import { turns } from "./slow-store.ts";
import { bodyText, undropped } from "./undropped.ts";
import { UnsteadyServer } from "./unsteady-server.ts";

type Event =
  | { readonly kind: "answer"; readonly task: number; readonly count: number; readonly from: number }
  | { readonly kind: "event"; readonly task: number; readonly name: string; readonly count: number }
  | { readonly kind: "cancel" | "cancel now"; readonly task: number }
  | { readonly kind: "time" | "jump"; readonly ms: number }
  | { readonly kind: "crash" | "stop" | "rest" }
  | { readonly kind: "crash at"; readonly calls: number; readonly after: boolean }
  | { readonly kind: "turns"; readonly turns: number };

const which = fc.nat({ max: 2 });
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    arbitrary: fc.record({
      kind: fc.constant("answer" as const),
      task: which,
      count: fc.integer({ min: 1, max: 3 }),
      from: fc.nat({ max: 3 }),
    }),
    weight: 6,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant("event" as const),
      task: which,
      name: fc.constantFrom(...eventNames),
      count: fc.integer({ min: 1, max: 3 }),
    }),
    weight: 4,
  },
  { arbitrary: fc.record({ kind: fc.constant("rest" as const) }), weight: 4 },
  {
    arbitrary: fc.record({
      kind: fc.constant("time" as const),
      ms: fc.constantFrom(0, 1, 700, 2_000, 2_000, 4_000, 660_000),
    }),
    weight: 4,
  },
  {
    arbitrary: fc.record({
      kind: fc.constant("jump" as const),
      ms: fc.constantFrom(-3_000, -500, 500, 3_000),
    }),
    weight: 1,
  },
  { arbitrary: fc.record({ kind: fc.constantFrom("crash" as const, "stop" as const) }), weight: 1 },
  {
    arbitrary: fc.record({
      kind: fc.constant("crash at" as const),
      calls: fc.integer({ min: 1, max: 25 }),
      after: fc.boolean(),
    }),
    weight: 3,
  },
  {
    arbitrary: fc.record({
      kind: fc.constantFrom("cancel" as const, "cancel" as const, "cancel now" as const),
      task: which,
    }),
    weight: 2,
  },
  { arbitrary: fc.record({ kind: fc.constant("turns" as const), turns: fc.nat({ max: 40 }) }), weight: 3 },
);

const worlds = fc.record({
  programs: fc.array(programs, { minLength: 1, maxLength: 3 }),
  parks: fc.array(
    fc.nat({ max: 5 }).map((n) => n > 0),
    { minLength: 3, maxLength: 3 },
  ),
  maxParkedFrames: fc.constantFrom(0, 0, 1, 10_000),
  concurrency: fc.constantFrom(1, 2, 64),
  delays: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 40 }),
});
const events = fc.array(event, { maxLength: 25 });

async function happen(server: UnsteadyServer, what: Event): Promise<void> {
  await server.restart();
  const { runtime } = server.process;
  switch (what.kind) {
    case "answer": {
      const id = server.ids[what.task % server.ids.length] ?? "";
      const { inputs } = await server.read(id);
      const chosen = [...inputs.slice(what.from), ...inputs].slice(0, what.count).reverse();
      const answers = chosen.map(({ key }) => ({ key, value: answerTo(key) }));
      runtime.answer(id, nobody, answers).catch(() => undefined); // it may have ended
      return;
    }
    case "event":
      for (let n = 0; n < what.count; n++) {
        const id = server.ids[what.task % server.ids.length] ?? "";
        runtime.sendEvent(id, { name: what.name, value: `event ${sent++}` }).catch(() => undefined);
      }
      return;
    case "cancel":
      runtime.cancel(server.ids[what.task % server.ids.length] ?? "", nobody).catch(() => undefined);
      return;
    case "cancel now":
      runtime.cancelNow(server.ids[what.task % server.ids.length] ?? "", nobody).catch(() => undefined);
      return;
    case "time":
      return server.clock.advance(what.ms);
    case "jump":
      return server.clock.jump(what.ms);
    case "crash":
      return server.crash();
    case "stop":
      return server.stop();
    case "crash at":
      return server.crashAt(what.calls, what.after);
    case "turns":
      return turns(what.turns);
    case "rest":
      await server.quiet();
      return checkAtRest(server);
  }
}

/** How many events were sent, each with a value of its own. */
let sent = 0;

let eventsTaken = 0;

function answerTo(key: string): string {
  return JSON.stringify({ action: "accept", content: { to: key } });
}

/**
 * Nothing goes on by itself: what has come was heard of, and all has begun that a handler begins which was never dropped. One that
 * pauses outside of its calls may be parked in a pause, and sees ends in another order.
 */
async function checkAtRest(server: UnsteadyServer): Promise<void> {
  for (const id of server.ids) {
    const { task } = await server.read(id);
    const journal = await server.journal(id);
    const program = server.programOf(id);
    const model = await undropped(program, journal);
    const exact = !pausesOutside(program);
    const wrong = (what: string): void => void server.violations.push(`${what}: ${JSON.stringify(task)}`);
    for (const key of journal.keys()) if (!model.begun.has(key)) wrong(`${key} was not to begin`);
    for (const { ends } of server.frames.get(id) ?? []) {
      if (exact && task.cancelRequestedAt === null) expect(ends).toEqual(model.ends.slice(0, ends.length));
    }
    if (isTerminal(task.state)) continue;
    if (task.lane !== null) wrong("nobody was woken");
    if (task.state === "queued" && !task.waiting) continue; // it pauses after crashes
    if (task.cancelRequestedAt !== null) wrong("the cancel was not heard of");
    if (!exact) continue;
    if (model.body !== undefined) wrong("it was to end");
    for (const [key, kind] of model.open) {
      if (kind === "step" && !journal.has(key)) wrong(`${key} was to run`);
      else if (!journal.has(key)) wrong(`${key} was to begin`);
    }
  }
}

async function checkEnded(server: UnsteadyServer): Promise<void> {
  expect(server.violations).toEqual([]);
  expect(server.errors()).toEqual([]);
  for (const id of server.ids) {
    const { task, outcome } = await server.read(id);
    expect(["settled", "cancelled"]).toContain(task.state);
    const { body } = await undropped(server.programOf(id), await server.journal(id));
    if (task.state === "settled") expect(bodyText(outcome)).toEqual(body);
    const taken = [...(await server.journal(id)).values()].filter(
      ({ kind, value }) => kind === "event" && value !== null,
    );
    expect(new Set(taken.map(({ value }) => value)).size).toBe(taken.length);
    eventsTaken += taken.length;
    const cancelBy = server.cancelledParked.get(id);
    const inTime = cancelBy !== undefined && (task.finishedAt ?? 0) < cancelBy;
    if (inTime && task.state === "cancelled") expect(server.aborted).toContain(id);
  }
}

/** All is answered, and time goes on, until all has ended. */
async function endAll(server: UnsteadyServer): Promise<void> {
  for (let round = 0; round < 80; round++) {
    await happen(server, { kind: "rest" });
    const snapshots = await Promise.all(server.ids.map((id) => server.read(id)));
    if (server.violations.length > 0 || snapshots.every(({ task }) => isTerminal(task.state))) return;
    for (const task of server.ids.keys()) {
      await happen(server, { kind: "answer", task, count: 99, from: 0 });
      for (const name of eventNames) await happen(server, { kind: "event", task, name, count: 4 });
    }
    await happen(server, { kind: "rest" });
    await server.clock.advance(300_000);
  }
}

/**
 * Where an answer and a deadline, or two steps, are as fast as each other, two runs of the same events may differ, and both are right. What
 * is wrong is that a run differs from what it journalled. So each handler is run once more at the end, and whenever all rests, in memory that
 * is never lost, with its journal (`undropped`). Runs in which nothing is dropped, or crashes, are among those that have to agree with that.
 */
it(
  "handlers come to what they would have come to if they had never been dropped",
  { timeout: 1_800_000 },
  async () => {
    const seen = { drops: 0, crashes: 0, cancels: 0, replays: 0 };
    const property = fc.asyncProperty(worlds, events, async (world, life) => {
      const { delays, maxParkedFrames, concurrency } = world;
      let next = 0;
      const delay = (): number => delays[next++ % delays.length] ?? 0;
      const crashes = { maxCrashes: 99, crashBackoffMs: 1, maxCrashBackoffMs: 1 };
      const options = { maxParkedFrames, concurrency, ...crashes };
      const server = new UnsteadyServer({ ...world, options, delay });
      await server.start();
      for (const each of life) await happen(server, each);
      await endAll(server);
      await checkEnded(server);
      await server.stop();
      seen.drops += server.drops;
      seen.crashes += server.crashes;
      seen.cancels += server.cancelledParked.size;
      for (const frames of server.frames.values()) seen.replays += frames.length - 1;
    });
    await fc.assert(property, { numRuns: fullForm ? 2_000 : 60 });
    expect(eventsTaken).toBeGreaterThan(100);
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
  },
);
