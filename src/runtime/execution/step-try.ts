import { AsyncLocalStorage } from "node:async_hooks";
import { HoldfastError, isFault } from "../../task/fault.ts";
import type { JournalKey } from "../../task/journal.ts";
import { encodeJson } from "../../task/stored-text.ts";
import { retryPause } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { deadlineAfter } from "../duration.ts";
import type { Run } from "../journal/run.ts";
import type { LineSource } from "../journal/task-lines.ts";
import { decodeError, encodeError, isNonRetryable } from "../tool/tool-errors.ts";
import { ruleAllows, type Report } from "../tool/tool.ts";
import type { OnStepRun } from "../services.ts";
import type { StepContext, StepOptions } from "../tool/task-context.ts";
import type { FailedTry, StepPauses } from "./step-pauses.ts";

export type StepFunction<T> = (step: StepContext) => T | Promise<T>;

/** What steps need from their run. */
export interface StepEffects {
  readonly pauses: StepPauses;
  /** Receives faults that the handler does not see. */
  readonly report: Report;
  readonly onStepRun?: OnStepRun | undefined;
}

export interface Step<T> {
  readonly run: Run;
  readonly effects: StepEffects;
  readonly clock: Clock;
  readonly key: string;
  readonly options: StepOptions;
  readonly fn: StepFunction<T>;
}

/** How one try of a step ended. The first two also end the step. */
export type TryEnd =
  | { readonly value: string | null }
  | { readonly thrown: unknown }
  | { readonly again: { readonly until: number; readonly failed: FailedTry } };

/** Maximum size of the stored error of a try, which that of the last try replaces. */
const mostErrorBytes = 4_096;

/**
 * Runs a step once that has failed `tries` times and was first tried at `begunAt`, and journals its end. A step that is retried has not
 * ended.
 */
export async function tryStep<T>(step: Step<T>, tries: number, begunAt: number): Promise<TryEnd> {
  const { run, key } = step;
  let value: string | null;
  try {
    value = encodeReturned(
      run,
      key,
      await (run.trace?.step(key, tries, () => runOnce(step)) ?? runOnce(step)),
    );
  } catch (thrown) {
    // An abort is not how the step ended, and a mistake in the handler is no result: a later attempt runs it again.
    if (run.signal.aborted || isFault(thrown)) return { thrown };
    const until = await nextTry(step, tries + 1, thrown);
    if (until !== undefined) {
      const error = encodeError(thrown, Math.min(run.maxBodyBytes, mostErrorBytes));
      return { again: { until, failed: { tries: tries + 1, error, begunAt } } };
    }
    const encoded = encodeError(thrown, run.maxBodyBytes);
    await run.recordStep({ key, value: null, error: encoded, begunAt });
    return { thrown: decodeError(encoded, thrown) };
  }
  await run.recordStep({ key, value, error: null, begunAt });
  return { value };
}

/** When to retry a step whose `failures`-th try threw `error` (epoch ms); undefined if it is not retried. */
async function nextTry<T>(
  { options, clock, effects }: Step<T>,
  failures: number,
  error: unknown,
): Promise<number | undefined> {
  const { retries = 0, retryIf, backoff } = options;
  if (failures > retries || isNonRetryable(error)) return undefined;
  if (retryIf !== undefined && !ruleAllows(retryIf, error, effects.report)) return undefined;
  const until = deadlineAfter(clock.now(), retryPause(failures, clock, backoff));
  return (await effects.pauses.reaches(until)) ? until : undefined;
}

async function runOnce<T>({ run, effects, clock, key, options: { timeoutMs }, fn }: Step<T>): Promise<T> {
  effects.onStepRun?.(run.taskId, key);
  const idempotencyKey = `${run.taskId}:${key}`;
  const once = (signal: AbortSignal, limit?: AbortSignal): Promise<T> =>
    inStep(run, { step: key, ...(limit && { limit }) }, async () => fn({ idempotencyKey, signal }));
  if (timeoutMs === undefined) return once(run.signal);

  const timeout = new AbortController();
  const error = new HoldfastError("step_timeout", `Step "${key}" took longer than ${timeoutMs} ms.`);
  let stopTimer = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    stopTimer = clock.after(timeoutMs, () => {
      timeout.abort(error);
      reject(error);
    });
  });
  try {
    return await Promise.race([once(AbortSignal.any([run.signal, timeout.signal]), timeout.signal), late]);
  } finally {
    stopTimer();
  }
}

function encodeReturned(run: Run, key: string, returned: unknown): string | null {
  if (returned === undefined) return null;
  const value = encodeJson(returned, `The result of step "${key}"`);
  if (Buffer.byteLength(value) > run.maxBodyBytes) {
    throw new HoldfastError(
      "too_large",
      `The result of step "${key}" is larger than ${run.maxBodyBytes} bytes.`,
    );
  }
  return value;
}

/** The current step, inside its function. A step that begins inside another could not be told from it on replay. */
const insideStep = new AsyncLocalStorage<{ readonly run: Run; readonly source: LineSource }>();

/** Throws `nested_step` for a journalled call from inside a step of the same run. */
export function assertOutsideStep(run: Run, key: JournalKey): void {
  if (insideStep.getStore()?.run !== run) return;
  throw new HoldfastError(
    "nested_step",
    `${JSON.stringify(key)} was started inside a step. Start it in the handler itself, before or after the step.`,
  );
}

/** The source of log and output lines in the current code: a try of a step, or the handler. */
export function lineSource(run: Run): LineSource {
  const inside = insideStep.getStore();
  return inside?.run === run ? inside.source : run.lineSource;
}

/** Runs the function of a step; its lines have this source. */
function inStep<T>(run: Run, source: LineSource, fn: () => Promise<T>): Promise<T> {
  return insideStep.run({ run, source }, fn);
}
