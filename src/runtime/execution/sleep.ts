import type { JournalKey } from "../../task/journal.ts";
import type { TimeSpan } from "../../task/time.ts";
import type { HeldTask } from "../journal/held-task.ts";
import type { Run } from "../journal/run.ts";
import type { LifeLimit } from "../journal/life-limit.ts";
import type { Clock } from "../clock.ts";
import { endOf } from "../duration.ts";
import type { Timers } from "../timers.ts";
import { waitFor } from "../wait-for.ts";

/** Waits for a time, counted from the first attempt, or until a date; a later attempt waits for the rest. */
export async function sleep(
  run: Run,
  task: HeldTask,
  limit: LifeLimit,
  timers: Timers,
  clock: Clock,
  key: JournalKey,
  time: TimeSpan | Date,
): Promise<void> {
  const end = endOf(time, clock.now());
  const claimed = run.claim(key);
  const entry = run.find(claimed, { kind: "sleep" });
  if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, () => undefined);
  const until = entry?.deadlineAt ?? end;
  await run.beginWait(entry === undefined);
  if (entry === undefined && !limit.reaches(until))
    await limit.assertReaches(until, `The sleep "${claimed}"`);
  const slept = async (): Promise<void> => {
    if (entry === undefined) await task.writeWithRest("sleep", { key: claimed, until });
    task.journal.waits(claimed);
    await waitUntil(run, timers, until);
    await task.journal.endSleep(claimed);
  };
  const begunAt = entry?.begunAt ?? clock.now();
  const sleeping = run.whileWaiting("sleep", slept, until);
  await (run.setup.trace?.waiting({ kind: "sleep", key: claimed, begunAt }, clock, sleeping) ?? sleeping);
}

/** Resolves at a time (epoch ms), unless the handler is dropped from memory before; rejects when it returns, or its signal aborts. */
export function waitUntil(run: Run, timers: Timers, until: number): Promise<void> {
  return waitFor((done, fail) => run.life.holdTimer(timers.at(until, done), fail), run.signal);
}
