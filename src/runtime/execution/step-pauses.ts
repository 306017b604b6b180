import type { WaitReason } from "../../task/journal.ts";
import type { HeldTask } from "../journal/held-task.ts";
import type { LifeLimit } from "../journal/life-limit.ts";
import type { Run } from "../journal/run.ts";
import type { Timers } from "../timers.ts";
import { waitFor } from "../wait-for.ts";
import { waitUntil } from "./sleep.ts";

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
