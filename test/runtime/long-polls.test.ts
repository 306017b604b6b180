import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { FakeClock } from "../../src/testing/clocks.ts";
import { wholeJournal } from "../../src/testing/sample-task.ts";
import { fullForm } from "../full-form.ts";
import { bodyOf, Process, text, type Handler } from "./harness.ts";

/** The record keeps this many attempts. */
const mostAttempts = 10;
const minuteMs = 60_000;
const dayMs = 86_400_000;

/** In the short form it looks less often in the same time. */
it.each([
  ["a week, each 15 seconds", fullForm ? 15_000 : 600_000, 7 * dayMs],
  ["half a year, each hour", fullForm ? 3_600_000 : 6 * 3_600_000, 182 * dayMs],
])("a poll of %s, takes no more room at its end than at its beginning", async (_, every, ms) => {
  const last = ms / every + 1;
  const seen: number[] = [];
  const handler: Handler = async (_args, task) => {
    const found = await task.poll("job", { every, jitter: 0 }, () => {
      seen.push(task.attempt);
      return seen.length < last ? undefined : "ready";
    });
    return text(found);
  };
  const clock = new FakeClock(undefined, fewTurns);
  const process = new Process({ tools: { polls: handler }, options: { maxParkedFrames: 0 } }, clock);
  await process.runtime.start();
  const begunAt = clock.now();
  const id = await process.callId("polls");
  const sizes: number[] = [];
  const measure = async (): Promise<void> => {
    const [entry, ...others] = await wholeJournal(process.store, id);
    expect(others).toEqual([]);
    expect(JSON.parse(entry?.value ?? "")).toMatchObject({ looks: seen.length });
    sizes.push(JSON.stringify([entry, (await process.get(id)).task]).length);
  };
  for (let look = 1; look < last; look++) {
    await process.until(id, ({ task }) => task.waiting && task.runAfter === begunAt + look * every);
    if (look === mostAttempts || look === last - 1) await measure();
    clock.suspend(Math.max(0, every - minuteMs)); // within a minute every timer looks at the time again
    await clock.advance(Math.min(every, minuteMs));
  }
  expect(bodyOf(await process.ended(id))).toEqual(text("ready"));
  expect(seen).toEqual(Array.from({ length: last }, (_each, place) => place + 1)); // it was dropped from memory each time
  const [atFirst = 0, atLast = Infinity] = sizes;
  expect(atLast - atFirst).toBeLessThan(50); // the digits of numbers
  expect(process.errors).toEqual([]);
});

/** Enough for a look, of which there are many. */
async function fewTurns(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await nextTurn();
}
