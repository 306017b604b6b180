import { HoldfastError } from "../../task/fault.ts";
import type { JournalEnd, JournalKey, WaitReason } from "../../task/journal.ts";
import { assertOptions, readOptions, type Read } from "../../options/options.ts";
import { type Backoff, backoffProblem } from "../clock.ts";
import type { Run } from "../journal/run.ts";
import type { LimitName } from "../limits/limit-name.ts";
import type { GiveBack } from "../limits/limits.ts";
import { decodeError, decodeValue } from "../stored-values.ts";
import { stepOptions, type StepOptions } from "../tool/task-context.ts";
import { notAwaited, tryStep, type Looks, type StepFiles, type TryEnd, type StepRun } from "./step-try.ts";
import type { Attempt } from "./attempt.ts";
import type { RunVersions } from "../tool/tool-config.ts";

/** In what a step differs from others. */
interface StepKind<T> {
  /** It is a poll. */
  readonly looks?: Looks<T>;
  /** What it has begun may live on without its attempt. */
  readonly livesOn?: boolean;
  /** Runs before each try, with a slot. */
  readonly prepare?: () => Promise<void>;
  readonly files?: StepFiles;
}

/** Runs a step until it ends and journals its end, or replays the journal (guarantee 4). */
export async function runStep<T>(
  attempt: Attempt,
  key: JournalKey,
  options: Read<StepOptions>,
  fn: StepRun<T>,
  { looks, livesOn = false, prepare, files }: StepKind<T> = {},
): Promise<T> {
  const { run, services } = attempt;
  const { clock } = services;
  const claimed = run.claim(key);
  const entry = run.find(claimed, { kind: "step" });
  if (entry !== undefined && entry.doneAt !== null) {
    return run.replayed(entry, (end) => {
      run.setup.lines.stepEnded(claimed, end.error !== null);
      return decodeEnd<T>(run, claimed, end);
    });
  }
  const { limit } = options;
  let begunAt: number | undefined;
  try {
    const stored = entry?.deadlineAt ?? null;
    // The pause began at some time after the step did, so that a clock which was set ahead meanwhile may have been so before.
    const retryAt =
      stored === null ? null : Math.min(stored, clock.afterJumps(stored, entry?.begunAt ?? null));
    if (retryAt === null) await run.begin(entry === undefined);
    else await attempt.pause(claimed, retryAt, pauseReason(entry?.tries)); // an earlier attempt has tried it
    await files?.begin();
    const step = { attempt, key: claimed, options, fn, looks, files };
    let tries = entry?.tries ?? 0;
    const work = (): Promise<TryEnd> =>
      run.working(() => {
        const firstAt = (begunAt ??= clock.now());
        const once = (): Promise<TryEnd> => tryStep(step, tries, firstAt);
        const running = { taskId: run.setup.taskId, key: claimed, begunAt: entry?.begunAt ?? firstAt, tries };
        return (run.task !== undefined ? services.counts?.steps.during(running, once) : undefined) ?? once();
      }, prepare);
    for (;;) {
      const end = await (limit === undefined ? work() : underLimit(attempt, claimed, limit, livesOn, work));
      if ("again" in end) {
        const { until, paused } = end.again;
        ({ tries } = paused);
        await attempt.pause(claimed, until, pauseReason(tries), paused);
        continue;
      }
      await run.checkpoint();
      if ("thrown" in end) throw run.threw(claimed, end.thrown);
      return decodeValue(end.value) as T;
    }
  } catch (error) {
    // The first of a race that has ended may leave one behind that waits for its permit.
    const isLeft = begunAt === undefined && entry === undefined && limit === undefined;
    if (isLeft && run.life.gaveResult)
      services.onError(notAwaited(run, `Step "${claimed}"`, neverBegan, error));
    throw error;
  }
}

/** What happened to something that the handler started and left. */
export const neverBegan = "did not run: its handler had returned before it began";

/** A poll that looks again has not failed. */
function pauseReason(tries = 0): WaitReason {
  return tries === 0 ? "sleep" : "retry";
}

/** Runs one try with a permit. What it was told to wait for, all who have to do with this limit wait for. */
async function underLimit(
  { limits }: Attempt,
  key: string,
  limit: LimitName,
  livesOn: boolean,
  work: () => Promise<TryEnd>,
): Promise<TryEnd> {
  const giveBack = await limits.take(key, limit, livesOn);
  let pauseMs: Parameters<GiveBack>[0];
  try {
    const end = await work();
    if ("again" in end) pauseMs = end.again.goesOn === true ? "keep" : end.again.saidMs;
    return end;
  } finally {
    giveBack(pauseMs);
  }
}

/** How a step ended in an earlier attempt. */
function decodeEnd<T>(run: Run, key: string, { value, error }: JournalEnd): T {
  if (error !== null) throw run.threw(key, decodeError(error));
  return decodeValue(value) as T;
}

/** The options of a step. Throws `configuration` for invalid ones. */
export function readStepOptions(given: StepOptions): Read<StepOptions> {
  assertOptions("task.step", given, stepOptions);
  assertBackoff("task.step", given.backoff);
  return readOptions(stepOptions, given);
}

/** Throws `configuration` for a backoff that contradicts itself. */
export function assertBackoff(what: string, given: Backoff | undefined): void {
  const problem = given && backoffProblem(`${what}: backoff`, given);
  if (problem !== undefined) throw new HoldfastError("configuration", `${problem}.`);
}

/** Whether a task began under the version `since` of its tool, or a later one. Throws if the tool has no such version. */
export function isSince({ task, code }: RunVersions, key: JournalKey, since: number): boolean {
  if (!Number.isSafeInteger(since) || since < 1) {
    throw new RangeError(`A version must be a whole number of at least 1, not ${String(since)}.`);
  }
  if (since <= code) return task >= since;
  throw new HoldfastError(
    "configuration",
    `task.version(${JSON.stringify(key)}, ${since}) asks for a version that the tool does not have: its version is ${code}. Raise version when you make the change.`,
  );
}

/** Answers `task.version`. Journalled as a step, so that a recording shows which way a task went. */
export async function taskVersion(attempt: Attempt, key: JournalKey, since: number): Promise<boolean> {
  const { run } = attempt;
  const answer = isSince(run.setup.versions, key, since);
  const journalled: unknown = await runStep(attempt, key, {}, () => answer);
  if (typeof journalled === "boolean") return journalled;
  throw run.mismatch({
    key: run.keys.stored(key),
    had: "step",
    doing: { kind: "step", request: "task.version" },
  });
}
