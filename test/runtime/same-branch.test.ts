import { expect, it } from "vitest";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";
import type { TaskStore } from "../../src/store/store.ts";
import { CrashableStore } from "../../src/testing/crashable-store.ts";
import { FakeClock, rest } from "../../src/testing/clocks.ts";
import { bodyOf, Process, text, type Handler, type Setup } from "./harness.ts";
import { Held } from "./watched-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: {} };
const value = JSON.stringify(yes);
const never = new Promise<never>(() => undefined);

/** Branches of a race, by what they are called where they win. */
type Branches = (task: TaskContext) => Record<string, Promise<unknown>>;

/** Races the branches, and keeps the winner in a step, whose key says which it was. */
function race(branches: Branches, hangs: boolean): Handler {
  return async (_, task) => {
    const named = Object.entries(branches(task)).map(async ([name, branch]) => {
      await branch;
      return name;
    });
    const winner = await Promise.race(named);
    await task.step(`saw ${winner}`, () => winner);
    return hangs ? never : text(winner);
  };
}

const both: Branches = (task) => ({
  sleep: task.sleep("limit", 1_000),
  answer: task.elicit("q", question),
});

/** The first attempt took this branch; the one after its crash has to take it too. */
async function expectAgain(first: Process, id: string, winner: string, branches: Branches): Promise<Process> {
  await first.journalHas(id, `saw ${winner}`);
  const second = await first.crash({ tools: { race: race(branches, false) } });
  await second.clock.advance(0);
  expect(bodyOf(await second.ended(id))).toEqual(text(winner));
  return second;
}

function started(branches: Branches, more: Partial<Setup> = {}): Promise<Process> {
  return Process.started({ ...more, tools: { race: race(branches, true), ...more.tools } });
}

it("a sleep ends before an answer that was sent earlier and committed later", async () => {
  const answering = new Held("answer_inputs");
  const process = await started(both, { before: answering.before });
  const id = await process.callId("race");
  await process.asked(id);
  const answered = process.answer(id, "q", yes);
  await answering.reached;
  await process.clock.advance(1_000);
  await process.journalHas(id, "saw sleep");
  answering.open();
  await answered;
  await expectAgain(process, id, "sleep", both);
});

it("an answer ends before a step that was committed later and known earlier", async () => {
  let reading = Promise.resolve();
  const gate = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const branches: Branches = (task) => ({
    answer: task.elicit("q", question),
    step: task.step("s", () => gate.promise),
  });
  const process = await started(branches, {
    before: (call) => (call === "journalEntry" ? reading : undefined),
  });
  const id = await process.callId("race");
  await process.asked(id);
  reading = held.promise;
  await process.store.write({
    type: "answer_inputs",
    now: process.clock.now(),
    id,
    answers: [{ key: "q", value }],
  });
  gate.resolve();
  await process.journalHas(id, "s");
  await rest();
  held.resolve();
  await expectAgain(process, id, "answer", branches);
});

it("a step ends before the answer to an older question, within one millisecond", async () => {
  const branches: Branches = (task) => ({
    answer: task.elicit("q", question),
    step: task.step("s", () => undefined),
  });
  const process = await started(branches);
  const id = await process.callId("race");
  await process.journalHas(id, "saw step");
  await process.answer(id, "q", yes);
  await expectAgain(process, id, "step", branches);
});

it("an answer ends before one that a clock behind it dates earlier", async () => {
  const branches: Branches = (task) => ({ a: task.elicit("a", question), b: task.elicit("b", question) });
  const process = await started(branches);
  const id = await process.callId("race");
  await process.asked(id, 2);
  await process.answer(id, "b", yes);
  await process.journalHas(id, "saw b");
  process.clock.jump(-60_000);
  await process.answer(id, "a", yes);
  await expectAgain(process, id, "b", branches);
});

it("what ends while no slot is free ends one after the other, however much follows from it", async () => {
  const gate = Promise.withResolvers<void>();
  const branches: Branches = (task) => ({
    sleep: task.sleep("limit", 1_000).then(async () => {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    }),
    answer: task.elicit("q", question),
  });
  const busy: Handler = async () => (await gate.promise, text("busy"));
  const process = await started(branches, { tools: { busy }, options: { concurrency: 1 } });
  const id = await process.callId("race");
  await process.asked(id);
  await process.callId("busy");
  await process.clock.advance(1_000);
  await process.answer(id, "q", yes);
  await rest();
  gate.resolve();
  await expectAgain(process, id, "sleep", branches);
});

it("a question that is put after a status ends before what came later", async () => {
  const branches: Branches = (task) => ({
    sleep: task.sleep("limit", 1_000),
    answer: task.status("asking").then(() => task.elicit("q", question)),
  });
  const first = await started(branches);
  const id = await first.callId("race");
  await first.asked(id);
  await first.answer(id, "q", yes);
  await first.journalHas(id, "saw answer");
  await first.clock.advance(1_000);
  const updating = new Held("update");
  const second = await first.crash({ tools: { race: race(branches, false) }, before: updating.before });
  await updating.reached;
  await rest();
  updating.open();
  expect(bodyOf(await second.ended(id))).toEqual(text("answer"));
});

it("sleeps that were over while nobody ran end in the order of their deadlines", async () => {
  const branches: Branches = (task) => ({
    long: task.sleep("long", 2_000),
    short: task.sleep("short", 1_000),
  });
  const first = await started(branches);
  const id = await first.callId("race");
  await first.journalHas(id, "short");
  first.clock.jump(5_000);
  const second = await first.crash({ tools: { race: race(branches, true) } });
  await second.clock.advance(0);
  await expectAgain(second, id, "short", branches);
});

it("the answer to a question that is put again ends before a later one, whatever the store still has to write", async () => {
  const branches: Branches = (task) => ({ a: task.elicit("a", question), b: task.elicit("b", question) });
  const tools = { race: { config: { park: false }, handler: race(branches, true) } };
  const first = await started(branches, { tools });
  const id = await first.callId("race");
  await first.asked(id, 2);
  const marking = new Held("mark");
  const second = await first.crash({ tools, before: marking.before });
  await marking.reached;
  for (const key of ["b", "a"]) await second.answer(id, key, yes);
  await rest();
  marking.open();
  await expectAgain(second, id, "b", branches);
});

it("answers that come while the journal is read, one page after the other, end in their order", async () => {
  const branches: Branches = (task) => ({ a: task.elicit("a", question), b: task.elicit("b", question) });
  // Its pages have one entry: the first still shows its question as open, and the second shows its own as answered. It
  // tells of no change, as if another process had made it just now.
  const paged = (inner: TaskStore): TaskStore =>
    new Proxy(inner, {
      get(target, name: keyof TaskStore) {
        if (name === "journal") return (id: string, from: string) => target.journal(id, from, 1);
        if (name === "subscribe") return () => () => undefined;
        const member = target[name];
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  const setup: Setup = { tools: { race: { config: { park: false }, handler: race(branches, true) } } };
  const first = new Process(setup, new FakeClock(), new CrashableStore(paged));
  await first.runtime.start();
  const id = await first.callId("race");
  await first.asked(id, 2);
  const gate = Promise.withResolvers<void>();
  let pages = 0;
  const second = await first.crash({
    ...setup,
    before: (call) => {
      if (call === "mark") return never; // nor does what the attempt writes itself show it
      return call === "journal" && ++pages === 2 ? gate.promise : undefined;
    },
  });
  await second.until(id, () => pages === 2);
  for (const key of ["a", "b"]) {
    const answers = [{ key, value }];
    await second.store.write({ type: "answer_inputs", now: second.clock.now(), id, answers });
  }
  gate.resolve();
  await expectAgain(second, id, "a", branches);
});

it("an answer that comes while a replay is on its way to the question ends before what came later", async () => {
  const branches: Branches = (task) => ({
    event: task.waitForEvent("paid", "paid"),
    answer: asked(task),
  });
  const asked = async (task: TaskContext): Promise<unknown> => {
    await task.step("before", () => "asking");
    for (let n = 0; n < 20; n++) await Promise.resolve(); // what comes later is ready first
    return task.elicit("q", question);
  };
  const tools = { race: { config: { park: false }, handler: race(branches, true) } };
  const first = await started(branches, { tools });
  const id = await first.callId("race");
  await first.asked(id);
  const reading = new Held("journalEnds");
  const second = await first.crash({ tools, before: reading.before });
  await reading.reached; // what the step returned
  await second.answer(id, "q", yes);
  await second.runtime.sendEvent(id, { name: "paid" });
  await rest();
  reading.open();
  await expectAgain(second, id, "answer", branches);
});

it.each([
  ["after them", "refused", -1],
  ["while they are refused", "refused", 500],
])(
  "calls that are refused again and again go on as if nothing else ran: a sleep ends %s",
  async (_, winner, endsAt) => {
    const endSleep = Promise.withResolvers<void>();
    const branches: Branches = (task) => {
      const sleep = task.sleep("limit", 1_000);
      const refused = async (): Promise<void> => {
        for (let n = 0; n < 2_000; n++) {
          if (n === endsAt) endSleep.resolve();
          await task.sleep("limit", 1).catch(() => undefined);
        }
      };
      return { sleep, refused: refused() };
    };
    const process = await started(branches);
    const id = await process.callId("race");
    if (endsAt < 0) await process.journalHas(id, "saw refused");
    else await endSleep.promise;
    await process.clock.advance(1_000);
    await process.journalHas(id, `saw ${winner}`);
    for (let n = 0; n < 20; n++) await rest();
    await expectAgain(process, id, winner, branches);
  },
);
