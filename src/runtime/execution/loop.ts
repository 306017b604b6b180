import { HoldfastError } from "../../task/fault.ts";
import { encodeJournalKey, type JournalKey, roundKey, roundName } from "../../task/journal.ts";
import type { Run } from "../journal/run.ts";
import { decodeValue, encodeValue } from "../stored-values.ts";
import { NextRound, type RoundContext, type StepContext, type TaskContext } from "../tool/task-context.ts";
import type { Attempt } from "./attempt.ts";
import type { Looks, StepRun } from "./step-try.ts";
import { assertOptions, settingsOf } from "../../options/options.ts";
import { deadlineAfter, growingPause } from "../clock.ts";
import { isNonRetryable } from "../tool/tool-errors.ts";
import { pollOptions, type PollOptions } from "../tool/called-tool.ts";
import { assertBackoff, runStep } from "./step.ts";

/**
 * Loops whose rounds each have a journal of their own, in constant space.
 * - The first round's state is what the handler passes, every time; that of a later one is in the loop's entry.
 * - What a round does is under keys with its number. One write replaces all of that by the next round, and the handler runs again.
 * - A loop that has ended leaves its last round in the journal, so that a replay ends it in the same way.
 */

type RoundFunction<State, Result> = (state: State, round: RoundContext<State>) => Promise<Result>;

export async function runLoop<State, Result>(
  { run, reports }: Attempt,
  task: TaskContext,
  name: string,
  initial: State,
  fn: RoundFunction<State, Result>,
): Promise<Exclude<Result, NextRound>> {
  if (typeof name !== "string" || typeof fn !== "function")
    throw new TypeError("task.loop takes a name, a state, and a function: the name of a loop is a text.");
  const key = run.claim(name);
  const entry = run.find(key, { kind: "loop" });
  const stored = entry && (await run.begunBy(key));
  let state = stored === undefined ? initial : (decodeValue(stored) as State);
  const outside = run.lineSource;
  for (let number = entry?.tries ?? 1; ; number++) {
    run.lineSource = { step: encodeJournalKey(roundName(key, number)) }; // the next round may say the same
    const returned = await fn(state, roundContext(task, key, number));
    run.lineSource = outside;
    if (!(returned instanceof NextRound)) return returned as Exclude<Result, NextRound>;
    const terms = {
      what: `The state of the loop "${name}"`,
      name: "state",
      maxBytes: run.setup.maxBodyBytes,
    };
    const value = encodeValue(returned.state, terms);
    await run.nextRound({ key, value, round: number + 1 }, () => reports.said());
    state = decodeValue(value) as State; // a call that is answered directly has no task, and goes on here
  }
}

/** The members of a context whose first argument is a key. */
const keyed = [
  "step",
  "poll",
  "exec",
  "elicit",
  "sample",
  "roots",
  "call",
  "all",
  "waitForEvent",
  "sleep",
  "version",
] as const satisfies readonly (keyof TaskContext)[];

function roundContext<State>(task: TaskContext, loop: string, number: number): RoundContext<State> {
  const round = roundName(loop, number);
  const calls = keyed.map((member) => {
    const call = task[member] as (key: JournalKey, ...rest: readonly unknown[]) => unknown;
    return [
      member,
      (key: JournalKey, ...rest: readonly unknown[]) => call(roundKey(round, key), ...rest),
    ] as const;
  });
  const own = {
    ...Object.fromEntries(calls),
    number,
    next: (state: State) => new NextRound(state),
    loop: () => {
      throw new HoldfastError("invalid_request", "A loop cannot run inside the round of another one.");
    },
  };
  return Object.create(task, Object.getOwnPropertyDescriptors(own)) as RoundContext<State>;
}

/**
 * `task.poll`: a step that looks at something again and again until it is ready.
 * - Its journal entry is one, and is written over after each look: how often it has looked, and when the last look begins. Until the next
 *   look the handler waits as in a sleep.
 * - A look that fails is a try of the step that fails. One that finds nothing ready is none: failures count from 0 again.
 * - The last look begins when the time is over, so that nothing that came in time is missed.
 */

/** What the journal has of a poll between two looks. Times are epoch ms. */
interface Seen {
  readonly looks: number;
  readonly lookedAt: number;
  /** When the last look begins; null: never. */
  readonly lastAt: number | null;
}

type Unset = "until" | "timeoutMs" | "lookTimeoutMs" | "maxEvery" | "backoff" | "retryIf" | "limit";

/** Looks until something is ready, or takes that from the journal. */
export async function runPoll<T>(
  attempt: Attempt,
  key: JournalKey,
  given: PollOptions<T>,
  fn: StepRun<T>,
): Promise<T> {
  assertOptions("task.poll", given, pollOptions);
  assertBackoff("task.poll", given.backoff);
  const options = settingsOf<PollOptions<T>, Unset>(pollOptions, given);
  const { run } = attempt;
  const { clock } = attempt.services;
  const { every, factor, maxEvery, jitter, until, timeoutMs, lookTimeoutMs } = options;
  const { retries, backoff, retryIf, limit } = options;
  const name = encodeJournalKey(key);
  let seen: Seen | undefined;

  // Not with the look: what it waits for may outlast the handler, after which none begins.
  const prepare = async (): Promise<void> => {
    seen = await nextLook();
  };
  const look = async (context: StepContext): Promise<T> => {
    try {
      return await fn(context);
    } catch (error) {
      if (seen === undefined || !isLast() || isNonRetryable(error)) throw error;
      throw late(seen, { cause: error });
    }
  };
  const nextLook = async (): Promise<Seen> => {
    const now = clock.now();
    const before = seen ?? (await seenBefore(run, run.keys.stored(key)));
    if (before !== undefined) return { ...before, looks: before.looks + 1, lookedAt: now };
    const lastAt = timeoutMs === undefined ? null : deadlineAfter(now, timeoutMs);
    if (lastAt !== null) await attempt.assertReaches(lastAt, `The poll "${name}"`);
    return { looks: 1, lookedAt: now, lastAt };
  };
  const isLast = (): boolean => clock.now() >= looks.lastAt();
  const late = ({ looks }: Seen, cause: ErrorOptions = {}): HoldfastError =>
    new HoldfastError(
      "poll_timeout",
      `The poll "${name}" has looked ${looks} times in ${timeoutMs ?? 0} ms, and what it looks for is not ready.`,
      cause,
    );
  const looks: Looks<T> = {
    seen: () => seen && JSON.stringify(seen),
    lastAt: () => {
      const at = seen?.lastAt ?? null;
      return at === null ? Infinity : clock.afterJumps(at, at - (timeoutMs ?? 0));
    },
    async again(returned) {
      if (seen === undefined || (until === undefined ? returned !== undefined : isReady(until, returned)))
        return undefined;
      if (isLast()) throw late(seen);
      const pause = growingPause({ firstMs: every, factor, maxMs: maxEvery }, seen.looks, jitter, clock);
      const next = Math.min(deadlineAfter(clock.now(), pause), looks.lastAt());
      await attempt.assertReaches(next, `The pause of the poll "${name}"`);
      return next;
    },
  };
  const retrying = {
    retries,
    ...(backoff && { backoff }),
    ...(retryIf && { retryIf }),
    ...(limit && { limit }),
  };
  const stepOptions = { ...retrying, ...(lookTimeoutMs !== undefined && { timeoutMs: lookTimeoutMs }) };
  return runStep(attempt, key, stepOptions, look, { looks, prepare });
}

async function seenBefore(run: Run, key: string): Promise<Seen | undefined> {
  const seen = await run.begunBy(key);
  return seen === undefined ? undefined : (JSON.parse(seen) as Seen);
}

function isReady<T>(until: (value: T) => unknown, value: T): boolean {
  const answer = until(value);
  if (typeof answer === "boolean") return answer;
  throw new TypeError(`"until" of a poll must return true or false, not ${typeof answer}.`);
}
