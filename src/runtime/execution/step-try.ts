import type { Read } from "../../options/options.ts";
import { giveToHandler } from "../unhandled-rejections.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import { HoldfastError, isFault, type FaultCode } from "../../task/fault.ts";
import { stemOf, type JournalKey } from "../../task/journal.ts";
import { deadlineAfter, retryPause } from "../clock.ts";
import { decodeError, encodeError, encodeValue } from "../stored-values.ts";
import type { Run } from "../journal/run.ts";
import type { LineSource } from "../journal/task-lines.ts";
import {
  describeThrown,
  isNonRetryable,
  isRetryLater,
  refusalOf,
  returnedRefusal,
  saidPause,
} from "../tool/tool-errors.ts";
import { ruleSays, type Report } from "../tool/tool.ts";
import { followerOf } from "../wait-for.ts";
import type { StepContext, StepOptions } from "../tool/task-context.ts";
import type { Attempt, PausedStep } from "./attempt.ts";
import { enterStep } from "../watchdog/running-code.ts";

export type StepRun<T> = (step: StepContext) => T | Promise<T>;

export interface Step<T> {
  readonly attempt: Attempt;
  readonly key: string;
  readonly options: Read<StepOptions>;
  readonly fn: StepRun<T>;
  /** Set for a step that looks until something is ready. */
  readonly looks?: Looks<T> | undefined;
  readonly files?: StepFiles | undefined;
}

/** What is stored beside the end of a step. */
export interface StepFiles {
  /** Called before the first try, also of one that an earlier attempt has begun. */
  begin(): Promise<void>;
  /** Called once it is known how the step ends, before that is stored. */
  store(): Promise<void>;
}

/** What makes a step a poll. */
export interface Looks<T> {
  /** When to look again after a look that returned this (epoch ms); undefined once there is nothing more to look for. */
  again(returned: T): Promise<number | undefined>;
  /** What the next look needs to know, as raw JSON; undefined before the first. */
  seen(): string | undefined;
  /** When the last look begins (epoch ms). */
  lastAt(): number;
}

/** What a step has returned on a thread, where it was stored, or why it cannot be. */
export class StoredReturn {
  readonly #text: string | null;
  readonly #instance: readonly [path: string, className: string] | undefined;
  readonly #refusal: Error | undefined;

  constructor(text: string | null, instance?: readonly [string, string], refusal?: Error) {
    this.#text = text;
    this.#instance = instance;
    this.#refusal = refusal;
  }

  /** As `encodeValue`. */
  encoded(onInstance: (path: string, className: string) => void): string | null {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#instance !== undefined) onInstance(...this.#instance);
    return this.#text;
  }
}

/** A step throws it that cannot go on yet, and has not failed: it is tried again after a pause, with what it has begun in the journal. */
export class NotYet extends Error {
  readonly pauseMs: number;
  /** Raw JSON, as of `begin_step`. */
  readonly begun: string;

  constructor(pauseMs: number, begun: string) {
    super("The step cannot go on yet.");
    this.pauseMs = pauseMs;
    this.begun = begun;
  }
}

function isNotYet(thrown: unknown): thrown is NotYet {
  try {
    return thrown instanceof NotYet;
  } catch {
    return false; // looking at it throws
  }
}

/** How one try of a step ended. The first two also end the step. */
export type TryEnd =
  | { readonly value: string | null }
  | { readonly thrown: unknown }
  /** With how long it was told to wait (ms). `goesOn`: what it has begun goes on meanwhile, and keeps its permit. */
  | {
      readonly again: {
        readonly until: number;
        readonly paused: PausedStep;
        readonly saidMs?: number;
        readonly goesOn?: true;
      };
    };

/** Maximum size of an error that always has room: that of a try, which that of the next try replaces, and a refusal. */
const smallErrorBytes = 4_096;

/**
 * Runs a step once that has failed `tries` times and was first tried at `begunAt`, and journals its end. A step that is retried has not
 * ended.
 */
export async function tryStep<T>(step: Step<T>, tries: number, begunAt: number): Promise<TryEnd> {
  const { attempt, key, looks } = step;
  const { run } = attempt;
  const { clock, onError } = attempt.services;
  const pausedWith = (failures: number, error: string | null): PausedStep => {
    const seen = looks?.seen();
    return { tries: failures, error, begunAt, ...(seen !== undefined && { value: seen }) };
  };
  let returned: T;
  try {
    returned = await (run.setup.trace?.step(key, tries, () => runOnce(step)) ?? runOnce(step));
    const refusal = returnedRefusal(returned, clock.now());
    if (refusal !== undefined) throw refusal;
    const until = await looks?.again(returned);
    if (until !== undefined) return { again: { until, paused: pausedWith(0, null) } };
  } catch (given) {
    const thrown = refusalOf(given);
    if (run.life.hasReturned && !run.signal.aborted) {
      const reason = describeThrown(thrown).replace(/\.$/, "");
      const happened = `failed after its handler had returned: ${reason}`;
      onError(notAwaited(run, `Step "${key}"`, happened, thrown));
    }
    // An abort is not how the step ended, and a mistake in the handler is no result: a later attempt runs it again.
    if (run.signal.aborted || isFault(thrown)) return { thrown };
    if (isNotYet(given)) {
      const until = deadlineAfter(clock.now(), given.pauseMs);
      return { again: { until, paused: { ...pausedWith(tries, null), value: given.begun }, goesOn: true } };
    }
    const next = await nextTry(step, tries, given);
    if (next !== undefined) {
      const error = encodeError(thrown, Math.min(run.setup.maxBodyBytes, smallErrorBytes));
      return { again: { paused: pausedWith(next.saidMs === undefined ? tries + 1 : tries, error), ...next } };
    }
    await step.files?.store();
    return recordThrown(step, thrown, begunAt);
  }
  await step.files?.store();
  try {
    const value = encodeReturned(step, returned);
    await run.recordStep({ key, value, error: null, begunAt });
    return { value };
  } catch (refusal) {
    return recordRefusal(step, refusal, begunAt);
  }
}

/** The handler has returned its result, and did not wait for something that came to nothing: nobody else hears of it. */
export function notAwaited({ setup }: Run, what: string, happened: string, cause: unknown): HoldfastError {
  return new HoldfastError(
    "step_not_awaited",
    `${what} of task ${setup.taskId} ${happened}. The task's outcome does not show that. Await it before the handler returns.`,
    { cause },
  );
}

async function recordThrown<T>(step: Step<T>, thrown: unknown, begunAt: number): Promise<TryEnd> {
  const { key } = step;
  const { run } = step.attempt;
  const error = encodeError(thrown, run.setup.maxBodyBytes);
  try {
    await run.recordStep({ key, value: null, error, begunAt });
  } catch (refusal) {
    return recordRefusal(step, refusal, begunAt);
  }
  return { thrown: decodeError(error, thrown) };
}

/** The step has run. Its side effect must not happen again, so it ends with the refusal of what it returned or threw. */
async function recordRefusal<T>(
  { attempt: { run }, key }: Step<T>,
  refusal: unknown,
  begunAt: number,
): Promise<TryEnd> {
  if (!(refusal instanceof HoldfastError && refusals.includes(refusal.code))) throw refusal;
  const error = encodeError(refusal, smallErrorBytes);
  await run.recordStep({ key, value: null, error, begunAt }, true);
  return { thrown: decodeError(error, refusal) };
}

/** Of an end that cannot be stored. */
const refusals: readonly FaultCode[] = ["not_json", "too_large", "limit_reached"];

/**
 * When to run a step again that had failed `failures` times before it threw `error` (epoch ms); undefined if it does not run again. If it was
 * told how long to wait, that is no failure.
 */
async function nextTry<T>(
  { options, attempt, looks }: Step<T>,
  failures: number,
  error: unknown,
): Promise<{ readonly until: number; readonly saidMs?: number } | undefined> {
  const { clock, onError } = attempt.services;
  const { retries = 0, retryIf, backoff } = options;
  const lastAt = looks?.lastAt() ?? Infinity;
  if (isNonRetryable(error) || clock.now() >= lastAt) return undefined;
  const rule = retryIf === undefined || isRetryLater(error) ? true : ruleSays(retryIf, error, onError);
  if (rule === false) return undefined;
  const saidMs = rule === true ? saidPause(error, clock.now()) : rule;
  if (saidMs === undefined && failures >= retries) return undefined;
  const pause = saidMs ?? retryPause(failures + 1, clock, backoff);
  const until = Math.min(deadlineAfter(clock.now(), pause), lastAt);
  if (!(await attempt.reaches(until))) return undefined;
  return { until, ...(saidMs !== undefined && { saidMs }) };
}

async function runOnce<T>({ attempt, key, options: { timeoutMs }, fn }: Step<T>): Promise<T> {
  const { run, services } = attempt;
  services.onStepRun?.(run.setup.taskId, key);
  const idempotencyKey = `${run.setup.stepKeys}:${key}`;
  const once = (signal: AbortSignal, limit?: AbortSignal): Promise<T> =>
    inStep(run, { step: key, ...(limit && { limit }) }, async () =>
      enterStep(key, () => fn({ idempotencyKey, signal })),
    );
  if (timeoutMs === undefined) return once(run.signal);

  const { controller: over, release } = followerOf(run.signal);
  const timeout = new AbortController();
  const error = new HoldfastError("step_timeout", `Step "${key}" took longer than ${timeoutMs} ms.`);
  giveToHandler(error); // a fetch with the signal may be one that nobody awaits
  let stopTimer = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    stopTimer = services.clock.after(timeoutMs, () => {
      timeout.abort(error);
      over.abort(error);
      reject(error);
    });
  });
  try {
    return await Promise.race([once(over.signal, timeout.signal), late]);
  } finally {
    release();
    stopTimer();
  }
}

function encodeReturned<T>({ key, attempt }: Step<T>, returned: T): string | null {
  if (returned === undefined) return null;
  const { onError } = attempt.services;
  const what = `The result of step "${key}"`;
  const onInstance = (path: string, className: string): void => {
    if (!isNews(onError, key)) return;
    const stored = `${what} has an instance of ${className} (${path}). Its data is stored, and the handler gets that data.`;
    onError(new HoldfastError("not_json", `${stored} Return plain data, and this is not said again.`));
  };
  if (returned instanceof StoredReturn) return returned.encoded(onInstance);
  return encodeValue(returned, {
    what,
    name: "result",
    maxBytes: attempt.run.setup.maxBodyBytes,
    onInstance,
  });
}

/** The names of steps whose results were reported, by who received the report. */
const reported = new WeakMap<Report, Set<string>>();

const mostReported = 1_000;

/** Whether nothing was reported of steps of this name, in any task. */
function isNews(report: Report, key: string): boolean {
  const name = stemOf(key);
  const said = reported.get(report) ?? new Set();
  reported.set(report, said);
  if (said.size >= mostReported || said.has(name)) return false;
  said.add(name);
  return true;
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
