/**
 * Loops whose rounds each have a journal of their own, in constant space.
 * - The first round's state is what the handler passes, every time; that of a later one is in the loop's entry.
 * - What a round does is under keys with its number. One write replaces all of that by the next round, and the handler runs again.
 * - A loop that has ended leaves its last round in the journal, so that a replay ends it in the same way.
 */

import { HoldfastError } from "../../task/fault.ts";
import { encodeJournalKey, roundKey, roundName, type JournalKey } from "../../task/journal.ts";
import type { Run } from "../journal/run.ts";
import { decodeValue, encodeValue } from "../stored-values.ts";
import { NextRound, type RoundContext, type TaskContext } from "../tool/task-context.ts";
import type { NextRoundOfLoop } from "../journal/held-task.ts";
import { assertOutsideStep } from "./step-try.ts";

interface LoopOf {
  readonly run: Run;
  /** As `Run.nextRound`. */
  readonly effects: { nextRound(next: NextRoundOfLoop): Promise<void> };
  readonly task: TaskContext;
}

type RoundFunction<State, Result> = (state: State, round: RoundContext<State>) => Promise<Result>;

export async function runLoop<State, Result>(
  { run, effects, task }: LoopOf,
  name: string,
  initial: State,
  fn: RoundFunction<State, Result>,
): Promise<Exclude<Result, NextRound>> {
  if (typeof name !== "string" || typeof fn !== "function")
    throw new TypeError("task.loop takes a name, a state, and a function: the name of a loop is a text.");
  assertOutsideStep(run, name);
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
    await effects.nextRound({ key, value, round: number + 1 });
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
