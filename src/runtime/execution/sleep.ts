import type { JournalKey, WaitReason } from "../../task/journal.ts";
import type { TimeSpan } from "../../task/time.ts";
import type { HeldTask } from "../journal/held-task.ts";
import type { Run } from "../journal/run.ts";
import type { LifeLimit } from "../journal/run-life.ts";
import { type StoreClock, endOf } from "../clock.ts";
import type { Timers } from "../timers.ts";
import { waitFor } from "../wait-for.ts";

/** Waits for a time, counted from the first attempt, or until a date; a later attempt waits for the rest. */
export async function sleep(
  run: Run,
  task: HeldTask,
  limit: LifeLimit,
  timers: Timers,
  clock: StoreClock,
  key: JournalKey,
  time: TimeSpan | Date,
): Promise<void> {
  const end = endOf(time, clock.now());
  const claimed = run.claim(key);
  const entry = run.find(claimed, { kind: "sleep" });
  if (entry !== undefined && entry.doneAt !== null) return run.replayed(entry, () => undefined);
  const begunAt = entry?.begunAt ?? clock.now();
  const stored = entry?.deadlineAt ?? end;
  const byDate = time instanceof Date;
  const until = byDate ? stored : clock.afterJumps(stored, begunAt);
  await run.beginWait(entry === undefined);
  if (entry === undefined && !limit.reaches(until))
    await limit.assertReaches(until, `The sleep "${claimed}"`);
  const slept = async (): Promise<void> => {
    if (entry === undefined) await task.writeWithRest("sleep", { key: claimed, until });
    task.journal.waits(claimed);
    await waitUntil(run, timers, until, byDate);
    await task.journal.endSleep(claimed);
  };
  const sleeping = run.whileWaiting("sleep", slept, until);
  await (run.setup.trace?.waiting({ kind: "sleep", key: claimed, begunAt }, clock, sleeping) ?? sleeping);
}

/** Resolves at a time (epoch ms), unless the handler is dropped from memory before; rejects when it returns, or its signal aborts. */
function waitUntil(run: Run, timers: Timers, until: number, byDate = false): Promise<void> {
  return waitFor((done, fail) => {
    const cancel = byDate ? timers.byDate(until, done) : timers.at(until, done);
    return run.life.holdTimer(cancel, fail);
  }, run.signal);
}

/** A step before its next try: one that has failed, or one that looks again at something that is not ready yet. */
export interface PausedStep {
  /** How often it has failed; 0 for one that looks again. */
  readonly tries: number;
  /** The error, in its stored form; null for one that looks again. */
  readonly error: string | null;
  /** When it was first tried in this run (epoch ms). */
  readonly begunAt: number;
  /** What the next look needs to know, as raw JSON. */
  readonly value?: string;
}

/** How the steps of a run wait for their next try. */
export interface StepPauses {
  /** Whether the run's task lives until then (epoch ms). */
  reaches(until: number): Promise<boolean>;
  /** Rejects with `outlives_task` if it does not; `what` would end then. */
  assertReaches(until: number, what: string): Promise<void>;
  /** Waits until then (epoch ms). `paused` is journalled first; it is left out if an earlier attempt has done so. */
  pause(key: string, until: number, reason: WaitReason, paused?: PausedStep): Promise<void>;
}

/** Pauses stored in the journal, so that a later attempt continues them. */
export function durablePauses(run: Run, task: HeldTask, limit: LifeLimit, timers: Timers): StepPauses {
  return {
    reaches: (until) => limit.willReach(until),
    assertReaches: (until, what) => limit.assertReaches(until, what),
    async pause(key, until, reason, paused) {
      await (paused === undefined ? run.beginWait(false) : run.beginPause());
      const pausing = async (): Promise<void> => {
        if (paused !== undefined) await task.writeWithRest("retry_step", { key, until, ...paused });
        task.journal.waits(key);
        await waitUntil(run, timers, until);
      };
      await run.whileWaiting(reason, pausing, until);
    },
  };
}

/** The pauses of a run without a task. */
export function passingPauses(run: Run, timers: Timers): StepPauses {
  return {
    reaches: async () => true,
    assertReaches: async () => undefined,
    pause: (_key, until, reason) =>
      run.whileWaiting(reason, () => waitFor((done) => timers.at(until, done), run.signal), until),
  };
}
