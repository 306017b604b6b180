import * as fc from "fast-check";
import type { ElicitParams } from "../../src/runtime/questions/form.ts";
import type { EventOptions, QuestionOptions, StepOptions } from "../../src/runtime/tool/task-context.ts";
import { turns } from "./slow-store.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

/** What events are called that the handlers wait for: few names, so that several wait for the same. */
export const eventNames = ["x", "y"] as const;

/** One call of the task context. */
interface Single {
  readonly kind:
    | "step"
    | "failing step"
    | "retried step"
    | "sleep"
    | "ask"
    | "ask in time"
    | "event"
    | "event in time"
    | "status";
  /** How long it sleeps, waits for its answer or event, or pauses at most before another try. */
  readonly ms: number;
  /** For which event it waits, or how many turns of the event loop a step takes; one that is tried again fails as often in each frame. */
  readonly turns: number;
}

/** What a branch of a handler does next. */
export interface Call {
  /** The first of these that ends decides. The others go on. */
  readonly race: readonly Single[];
  /** How many microtasks, and turns of the event loop, the handler lets pass before, outside of any step. */
  readonly microtasks: number;
  readonly pause: number;
  /** Whether the branch goes on at once, and waits for the call only at its end. */
  readonly later: boolean;
  /** Whether what the call throws is caught. */
  readonly caught: boolean;
}

/** Branches of a handler, which run beside each other. */
export type Program = readonly (readonly Call[])[];

/** The part of a task context that the handlers use. */
export interface Calls {
  readonly signal: AbortSignal;
  step(key: string, fn: () => Promise<string>): Promise<string>;
  step(key: string, options: StepOptions, fn: () => Promise<string>): Promise<string>;
  sleep(key: string, ms: number): Promise<void>;
  elicit(key: string, params: ElicitParams, options?: QuestionOptions): Promise<{ content?: unknown }>;
  waitForEvent(key: string, name: string, options?: EventOptions): Promise<unknown>;
  status(message: string): Promise<void>;
}

/** Below a second, which is too short to park a handler for, and above; the last is longer than any frame is kept. */
const waits = fc.constantFrom(0, 1, 700, 1_400, 5_000, 900_000);
const racing = [
  "step",
  "step",
  "failing step",
  "retried step",
  "sleep",
  "ask",
  "ask",
  "ask in time",
  "event",
  "event in time",
] as const;
type Kinds = readonly Single["kind"][];

function racers(kinds: Kinds, minLength: number, maxLength: number): fc.Arbitrary<readonly Single[]> {
  const single = fc.record<Single>({
    kind: fc.constantFrom(...kinds),
    ms: waits,
    turns: fc.nat({ max: 4 }),
  });
  return fc.array(single, { minLength, maxLength });
}

/** Branches of such calls, which pause for up to so many turns before them; `caught`: all that they throw is. */
function branches(kinds: Kinds, caught: boolean, maxPause: number): fc.Arbitrary<Program> {
  const call = fc.record<Call>({
    race: fc.oneof(
      { arbitrary: racers(kinds, 1, 1), weight: 3 },
      { arbitrary: racers(racing, 2, 3), weight: 1 },
    ),
    microtasks: fc.nat({ max: 12 }),
    pause: fc.nat({ max: maxPause }),
    later: fc.nat({ max: 3 }).map((n) => n === 0),
    caught: caught ? fc.constant(true) : fc.nat({ max: 4 }).map((n) => n > 0),
  });
  return fc.array(fc.array(call, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 });
}

/**
 * Random handlers. When a change of the task is written is not journalled, nor how long a handler pauses outside of its calls. So
 * where there is one of these, it decides neither a race nor which branch is the first to throw.
 */
export const programs = fc.oneof(
  branches([...racing, "status"], true, 0),
  branches(racing, false, 0),
  branches([...racing, "status"], true, 3),
);

export function pausesOutside(program: Program): boolean {
  return program.flat().some(({ pause }) => pause > 0);
}

/** Hears of what a frame of a handler does. */
export interface Witness {
  /** A call has ended, with this. */
  readonly ended: (key: string, end: string) => void;
  /** The function of a step runs: what the step returns. */
  readonly ran: (key: string, turnCount: number) => Promise<string>;
}

/** Runs all branches; resolves with what they came to. */
export async function play(program: Program, task: Calls, witness: Witness): Promise<string> {
  const begin = async (each: Single, key: string): Promise<string> => {
    const end = await make(task, each, key, witness).then(
      (value) => `${key} ${String(value)}`,
      (error: unknown) => Promise.reject(thrown(key, error, task, witness)),
    );
    if (each.kind !== "status" && !task.signal.aborted) witness.ended(key, end);
    return end;
  };
  const run = async (calls: readonly Call[], branch: number): Promise<readonly string[]> => {
    const ends: Promise<string>[] = [];
    for (const [index, { race, microtasks, pause, later, caught }] of calls.entries()) {
      for (let n = 0; n < microtasks; n++) await Promise.resolve();
      await turns(pause);
      const entrants = race.map((each, n) => begin(each, `${branch}.${index}.${n}`));
      const first = Promise.race(entrants);
      const end = caught ? first.catch((error: Error) => unlessAborted(error, task.signal)) : first;
      end.catch(() => undefined); // it may be waited for later, or never
      for (const entrant of entrants) entrant.catch(() => undefined);
      if (!later) await end;
      ends.push(end);
    }
    return Promise.all(ends);
  };
  return JSON.stringify(await Promise.all(program.map(run)));
}

function make(
  task: Calls,
  { kind, ms, turns: count }: Single,
  key: string,
  witness: Witness,
): Promise<unknown> {
  switch (kind) {
    case "step":
      return task.step(key, () => witness.ran(key, count));
    case "failing step":
      return task.step(key, async () => {
        throw new Error(await witness.ran(key, count));
      });
    case "retried step": {
      let failures = 0;
      return task.step(key, { retries: 2, backoff: { firstMs: ms, maxMs: 900_000 } }, async () => {
        const ran = await witness.ran(key, count);
        if (failures++ < count) throw new Error(ran);
        return ran;
      });
    }
    case "sleep":
      return task.sleep(key, ms);
    case "ask":
      return task.elicit(key, question).then(({ content }) => JSON.stringify(content));
    case "ask in time":
      return task.elicit(key, question, { timeoutMs: ms }).then(({ content }) => JSON.stringify(content));
    case "event":
      return task.waitForEvent(key, nameOf(count)).then(String);
    case "event in time":
      return task.waitForEvent(key, nameOf(count), { timeoutMs: ms }).then(String);
    case "status":
      return task.status(key);
  }
}

function nameOf(n: number): string {
  return eventNames[n % eventNames.length] ?? "";
}

function thrown(key: string, error: unknown, task: Calls, witness: Witness): Error {
  const { message } = error as Error;
  const end = `${key} threw ${message}`;
  if (!task.signal.aborted) witness.ended(key, end);
  return new Error(end);
}

/** Who catches what a question throws is not to catch a cancel. */
function unlessAborted(error: Error, signal: AbortSignal): string {
  if (signal.aborted) throw error;
  return error.message;
}
