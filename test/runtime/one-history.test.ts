import { expect, it } from "vitest";
import { fullForm } from "../full-form.ts";
import { SeededWorld } from "./seeded-world.ts";

const { HOLDFAST_HISTORY_TASKS, HOLDFAST_HISTORY_SEED, HOLDFAST_SEED } = process.env;
const tasks = Number(HOLDFAST_HISTORY_TASKS ?? (fullForm ? 100_000 : 2_000));
const tasksPerWorld = 4;

/**
 * Random handlers race, join and chain steps, polls, sleeps, questions, events and calls, wait for a limit, and report what they do, in two processes that stop in
 * order, crash and share a store, while others answer, send events and cancel. Some tasks are made when their handler needs one. Whatever happens:
 *
 * - What a handler has seen, in order, is what each later run of it sees first: values, and all of an error but its stack.
 * - An attempt that has given up its task sees nothing more, and none ends its task if an end was held back from it.
 * - The outcome is that of a handler which saw all in the order of the journal, and so are the lines of the log, the statuses and the
 *   progress. A step that has ended has its lines there once.
 * - Each handler, step and listener runs in the context of its runtime, and in nobody's else.
 * - A stop in order fails no task, not even one that had begun no entry.
 * - A step whose end is in the journal does not run again, and each task ends.
 *
 * A failure says its seeds: HOLDFAST_HISTORY_SEED repeats one. HOLDFAST_HISTORY_TASKS says how many tasks are tried.
 */
it("handlers see one history, whatever happens to their processes", { timeout: 7_200_000 }, async () => {
  const first = Number(HOLDFAST_HISTORY_SEED ?? HOLDFAST_SEED ?? Date.now() % 1_000_000_000);
  const worlds = HOLDFAST_HISTORY_SEED === undefined ? Math.ceil(tasks / tasksPerWorld) : 1;
  const wrong: Record<number, readonly string[]> = {};
  const seen = { replays: 0, drains: 0, crashes: 0, parks: 0, retries: 0, gaveUp: 0, promotions: 0 };
  for (let seed = first; seed < first + worlds && Object.keys(wrong).length < 20; seed++) {
    const world = new SeededWorld(seed, tasksPerWorld);
    await world.run();
    if (world.violations.length > 0) wrong[seed] = world.violations.slice(0, 5);
    for (const [name, count] of Object.entries(world.counts)) seen[name as keyof typeof seen] += count;
  }
  expect(wrong).toEqual({});
  if (worlds > 1) for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
