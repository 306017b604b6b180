import type { HeldTask } from "../journal/held-task.ts";
import type { LifeLimit } from "../journal/life-limit.ts";
import type { Run } from "../journal/run.ts";
import type { Timers } from "../timers.ts";
import { waitFor } from "../wait-for.ts";
import { waitUntil } from "./sleep.ts";

/** A failed try of a step that will be retried. */
export interface FailedTry {
  /** How often the step has failed. */
  readonly tries: number;
  /** The error, in its stored form. */
  readonly error: string;
  /** When it was first tried in this run (epoch ms). */
  readonly begunAt: number;
}

/** How the steps of a run wait for their retries. */
export interface StepPauses {
  /** Whether the run's task lives until then (epoch ms). */
  reaches(until: number): Promise<boolean>;
  /** Waits until then (epoch ms). `failed` is journalled first; it is left out if an earlier attempt has done so. */
  pause(key: string, until: number, failed?: FailedTry): Promise<void>;
}

/** Pauses stored in the journal, so that a later attempt continues them. */
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
      await run.whileWaiting("retry", paused, until);
    },
  };
}

/** The pauses of a run without a task. */
export function passingPauses(run: Run, timers: Timers): StepPauses {
  return {
    reaches: async () => true,
    pause: (_key, until) =>
      run.whileWaiting("retry", () => waitFor((done) => timers.at(until, done), run.signal), until),
  };
}
