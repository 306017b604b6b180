import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd, JournalKey, WaitReason } from "../../task/journal.ts";
import { assertOptions } from "../../options/options.ts";
import { backoffProblem, type Backoff } from "../backoff.ts";
import type { Run } from "../journal/run.ts";
import type { Clock } from "../clock.ts";
import { decodeError, decodeValue } from "../stored-values.ts";
import { stepOptions, type StepOptions } from "../tool/task-context.ts";
import {
  assertOutsideStep,
  tryStep,
  type Looks,
  type StepEffects,
  type TryEnd,
  type StepRun,
} from "./step-try.ts";

/** Runs a step until it ends and journals its end, or replays the journal (guarantee 4). */
export async function runStep<T>(
  run: Run,
  effects: StepEffects,
  clock: Clock,
  key: JournalKey,
  options: StepOptions,
  fn: StepRun<T>,
  looks?: Looks<T>,
): Promise<T> {
  assertOutsideStep(run, key);
  const claimed = run.claim(key);
  const entry = run.find(claimed, { kind: "step" });
  if (entry !== undefined && entry.doneAt !== null) {
    return run.replayed(entry, (end) => {
      run.lines.stepEnded(claimed, end.error !== null);
      return decodeEnd<T>(end);
    });
  }
  const { pauses } = effects;
  const retryAt = entry?.deadlineAt ?? null;
  if (retryAt === null) await run.begin(entry === undefined);
  else await pauses.pause(claimed, retryAt, pauseReason(entry?.tries)); // an earlier attempt has tried it
  const step = { run, effects, clock, key: claimed, options, fn, looks };
  let begunAt: number | undefined;
  for (let tries = entry?.tries ?? 0; ;) {
    const end = await run.working(() => {
      const firstAt = (begunAt ??= clock.now());
      const once = (): Promise<TryEnd> => tryStep(step, tries, firstAt);
      const running = { taskId: run.taskId, key: claimed, begunAt: entry?.begunAt ?? firstAt, tries };
      return effects.running?.during(running, once) ?? once();
    });
    if ("again" in end) {
      const { until, paused } = end.again;
      ({ tries } = paused);
      await pauses.pause(claimed, until, pauseReason(tries), paused);
      continue;
    }
    await run.checkpoint();
    if ("thrown" in end) throw end.thrown;
    return decodeValue(end.value) as T;
  }
}

/** A poll that looks again has not failed. */
function pauseReason(tries = 0): WaitReason {
  return tries === 0 ? "sleep" : "retry";
}

/** How a step ended in an earlier attempt. */
function decodeEnd<T>({ value, error }: JournalEnd): T {
  if (error !== null) throw decodeError(error);
  return decodeValue(value) as T;
}

/** Throws `configuration` for invalid options of a step. */
export function assertStepOptions(given: StepOptions): void {
  assertOptions("task.step", given, stepOptions);
  assertBackoff("task.step", given.backoff);
}

/** Throws `configuration` for a backoff that contradicts itself. */
export function assertBackoff(what: string, given: Backoff | undefined): void {
  const problem = given && backoffProblem(`${what}: backoff`, given);
  if (problem !== undefined) throw new HoldfastError("configuration", `${problem}.`);
}
