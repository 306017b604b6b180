import { AsyncLocalStorage } from "node:async_hooks";
import { HoldfastError, isFault } from "../../task/fault.ts";
import type { JournalEnd, JournalHead, JournalKey } from "../../task/journal.ts";
import { encodeJson } from "../../task/json.ts";
import type { Run } from "../journal/run.ts";
import type { Clock } from "../clock.ts";
import { decodeError, encodeError } from "../tool/error-json.ts";
import { retryPause } from "../backoff.ts";
import { isNonRetryable } from "../tool/non-retryable-error.ts";
import { says, type Report } from "../tool/retry-rule.ts";
import type { StepContext, StepOptions } from "../tool/task-context.ts";
import { waitFor } from "../wait-for.ts";

type StepFunction<T> = (step: StepContext) => T | Promise<T>;

/** Inside a step's function: whose step it is. One begun there could not be told from its parent on replay. */
const insideStep = new AsyncLocalStorage<Run>();

/** Throws `nested_step` for a journalled call from inside a step of the same run. */
export function assertOutsideStep(run: Run, key: JournalKey): void {
  if (insideStep.getStore() !== run) return;
  throw new HoldfastError(
    "nested_step",
    `${JSON.stringify(key)} was begun inside a step. Begin it in the handler itself, before or after the step.`,
  );
}

/** Runs a step once and journals how it ended, or replays what the journal has (guarantee 4). */
export async function runStep<T>(
  run: Run,
  clock: Clock,
  report: Report,
  key: JournalKey,
  options: StepOptions,
  fn: StepFunction<T>,
): Promise<T> {
  assertOutsideStep(run, key);
  const claimed = run.claim(key);
  const entry = run.find(claimed);
  if (entry !== undefined) {
    assertStep(entry);
    return run.replayed(entry, decodeEnd<T>);
  }
  await run.begin();
  const end = await run.working(() => runAndRecord(run, clock, report, claimed, options, fn));
  await run.checkpoint();
  if ("thrown" in end) throw end.thrown;
  return decodeValue<T>(end.value);
}

type StepEnd = { readonly value: string | null } | { readonly thrown: unknown };

async function runAndRecord<T>(
  run: Run,
  clock: Clock,
  report: Report,
  key: string,
  options: StepOptions,
  fn: StepFunction<T>,
): Promise<StepEnd> {
  let value: string | null;
  try {
    value = await runWithRetries(run, clock, report, key, options, fn);
  } catch (thrown) {
    // An abort is not how the step ended, and a mistake in the handler is no result: a later attempt runs it again.
    if (run.signal.aborted || isFault(thrown)) return { thrown };
    const encoded = encodeError(thrown, run.maxBodyBytes);
    await run.recordStep(key, null, encoded);
    return { thrown: decodeError(encoded, thrown) };
  }
  await run.recordStep(key, value, null);
  return { value };
}

function assertStep(entry: JournalHead): void {
  if (entry.kind === "step") return;
  throw new HoldfastError(
    "replay_mismatch",
    `The journal has a different entry (${entry.kind}) under the key "${entry.key}", but the handler asks for a step. Keys must not change their meaning while tasks that used them run.`,
  );
}

/** How a step ended in an earlier attempt. */
function decodeEnd<T>({ value, error }: JournalEnd): T {
  if (error !== null) throw decodeError(error);
  return decodeValue<T>(value);
}

/** What a step returned, as every later attempt sees it; null stands for a step that returned nothing. */
function decodeValue<T>(value: string | null): T {
  return (value === null ? undefined : JSON.parse(value)) as T;
}

async function runWithRetries<T>(
  run: Run,
  clock: Clock,
  report: Report,
  key: string,
  options: StepOptions,
  fn: StepFunction<T>,
): Promise<string | null> {
  for (let failures = 0; ;) {
    try {
      const returned = await runOnce(run, clock, key, options, fn);
      return encodeReturned(run, key, returned);
    } catch (error) {
      failures++;
      if (run.signal.aborted || failures > (options.retries ?? 0) || !isToRetry(error, options, report))
        throw error;
      const pause = retryPause(failures, clock, options.backoff);
      await waitFor((done) => clock.after(pause, done), run.signal);
    }
  }
}

function isToRetry(error: unknown, { retryIf }: StepOptions, report: Report): boolean {
  if (isFault(error) || isNonRetryable(error)) return false;
  return retryIf === undefined || says(retryIf, error, report);
}

async function runOnce<T>(
  run: Run,
  clock: Clock,
  key: string,
  { timeoutMs }: StepOptions,
  fn: StepFunction<T>,
): Promise<T> {
  const idempotencyKey = `${run.taskId}:${key}`;
  const once = (signal: AbortSignal): Promise<T> =>
    insideStep.run(run, async () => fn({ idempotencyKey, signal }));
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
    return await Promise.race([once(AbortSignal.any([run.signal, timeout.signal])), late]);
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
