import type { HeldTask } from "../journal/held-task.ts";
import type { LifeLimit } from "../journal/life-limit.ts";
import type { Run } from "../journal/run.ts";
import type { Timers } from "../timers.ts";
import { waitUntil } from "./sleep.ts";

/** A try of a step that failed, and after which it is tried again. */
export interface FailedTry {
  /** How often the step has failed. */
  readonly tries: number;
  /** What it threw, as the journal has it. */
  readonly error: string;
  /** When it was first tried in this run (epoch ms). */
  readonly begunAt: number;
}

/** How the steps of a run wait until they are tried again. */
export interface StepPauses {
  /** Whether the run's task lives until then (epoch ms). */
  reaches(until: number): Promise<boolean>;
  /** Waits until then (epoch ms). `failed` is journalled first; left out where an earlier attempt has done so. */
  pause(key: string, until: number, failed?: FailedTry): Promise<void>;
}

/** Pauses that are in the journal, so that a later attempt goes on with them. */
export function durablePauses(run: Run, task: HeldTask, limit: LifeLimit, timers: Timers): StepPauses {
  return {
    reaches: (until) => limit.willReach(until),
    async pause(key, until, failed) {
      await (failed === undefined ? run.beginWait(false) : run.beginPause());
      const paused = async (): Promise<void> => {
        if (failed !== undefined) await task.writeWithRest("retry_step", { key, until, ...failed });
        task.journal.waits(key);
        await waitUntil(run, timers, until);
      };
      await run.whileWaiting(paused, until);
    },
  };
}

/** Those of a run without a task. */
export function passingPauses(run: Run, timers: Timers): StepPauses {
  return {
    reaches: async () => true,
    pause: (_key, until) => run.whileWaiting(() => timers.until(until, run.signal), until),
  };
}
