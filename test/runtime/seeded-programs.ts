import { inspect } from "node:util";
import { ProtocolError } from "@modelcontextprotocol/server";
import type { TaskContext } from "../../src/runtime/tool/task-context.ts";

const question = { message: "?", requestedSchema: { type: "object" as const, properties: {} } };

/** What events are called that the handlers wait for: few names, so that several wait for the same. */
export const eventNames = ["x", "y"] as const;

/** The limit under which some of their steps run. */
export const limitName = "api";

/** What a step appends to the log. */
export function inStep(key: string): string {
  return `in ${key}`;
}

const entryKinds = [
  "step",
  "step",
  "slow step",
  "failing step",
  "retried step",
  "limited step",
  "loud step",
  "poll",
  "sleep",
  "sleep",
  "ask",
  "ask in time",
  "event",
  "event in time",
  "call",
] as const;

interface Entry {
  readonly kind: (typeof entryKinds)[number];
  readonly key: string;
  /** How long it sleeps, waits, or pauses before another try. */
  readonly ms: number;
  /** What it returns or throws, for which event it waits, how often it fails, and how many turns a step takes. */
  readonly n: number;
  readonly microtasks: number;
  /** What the handler reports before and after it. */
  readonly reports: boolean;
  readonly caught: boolean;
}

const ways = ["race", "any", "all", "allSettled"] as const;

type Part = Entry | { readonly kind: (typeof ways)[number] | "chain"; readonly parts: readonly Part[] };

/** The keys of steps that append to the log. */
export function loudSteps(part: Part): readonly string[] {
  if ("parts" in part) return part.parts.flatMap(loudSteps);
  return part.kind === "loud step" ? [part.key] : [];
}

/** A handler, made from a seed. */
export interface SeededProgram {
  readonly body: Part;
  /** How long it pauses before its first entry, on a timer of its own (ms; 0: not at all). */
  readonly startMs: number;
  /** When it gives up, on a timer of its own (ms): a replay need not come to the same outcome then, but sees the same. */
  readonly giveUpMs: number | undefined;
}

export type Random = () => number;

export function oneOf<T>(random: Random, values: readonly [T, ...T[]]): T {
  return values[Math.floor(random() * values.length)] ?? values[0];
}

export function upTo(random: Random, most: number): number {
  return Math.floor(random() * (most + 1));
}

export function seededProgram(random: Random): SeededProgram {
  let keys = 0;
  const entry = (): Entry => ({
    kind: oneOf(random, entryKinds),
    key: `k${keys++}`,
    ms: oneOf(random, [0, 1, 700, 1_400, 5_000, 900_000]),
    n: upTo(random, 4),
    microtasks: upTo(random, 12),
    reports: random() < 0.3,
    caught: random() < 0.8,
  });
  const part = (depth: number): Part => {
    if (depth === 0 || random() < 0.4) return entry();
    const kind = oneOf<"chain" | (typeof ways)[number]>(random, ["chain", "chain", ...ways]);
    return { kind, parts: Array.from({ length: 1 + upTo(random, 2) }, () => part(depth - 1)) };
  };
  return {
    body: { kind: oneOf(random, ["chain", "all", "race"]), parts: [part(3), part(2), part(1)] },
    startMs: oneOf(random, [0, 0, 0, 500, 1_500]),
    giveUpMs: random() < 0.15 ? oneOf(random, [300, 1_000, 2_500]) : undefined,
  };
}

/** The part of a task context that the handlers use. */
export type Calls = Pick<
  TaskContext,
  "signal" | "elicit" | "sleep" | "call" | "waitForEvent" | "step" | "poll"
> & {
  readonly log: (text: string) => unknown;
  readonly status: (text: string) => unknown;
  readonly progress: (progress: number) => unknown;
};

/** Hears of what a handler does. */
export interface Witness {
  /** An entry has ended, with this: called as its handler hears of it. */
  readonly ended: (key: string, end: string) => void;
  /** The function of a step runs, for so many turns, or for seconds; resolves with a number of its own. */
  readonly ran: (key: string, turns: number, slow: boolean) => Promise<number>;
  /** A timer of the handler's own. */
  readonly pause: (ms: number) => Promise<void>;
}

/** Runs a handler; resolves with what it came to. */
export async function play(program: SeededProgram, task: Calls, witness: Witness): Promise<string> {
  const { body, startMs, giveUpMs } = program;
  const gaveUp = giveUpMs === undefined ? [] : [witness.pause(startMs + giveUpMs).then(() => "It gave up.")];
  const played = (async () => {
    if (startMs > 0) await witness.pause(startMs);
    return run(body, task, witness);
  })();
  played.catch(() => undefined);
  return Promise.race([played, ...gaveUp]);
}

async function run(part: Part, task: Calls, witness: Witness): Promise<string> {
  if (!("parts" in part)) return runEntry(part, task, witness);
  const { kind, parts } = part;
  if (kind === "chain") {
    const ends: string[] = [];
    for (const each of parts) ends.push(await run(each, task, witness));
    return ends.join(" ");
  }
  const runs = parts.map((each) => run(each, task, witness));
  for (const each of runs) each.catch(() => undefined);
  if (kind === "race") return Promise.race(runs);
  if (kind === "any") return Promise.any(runs);
  if (kind === "all") return (await Promise.all(runs)).join(" ");
  const settled = await Promise.allSettled(runs);
  return settled.map((end) => (end.status === "fulfilled" ? end.value : described(end.reason))).join(" ");
}

async function runEntry(entry: Entry, task: Calls, witness: Witness): Promise<string> {
  const { key, microtasks, reports, caught } = entry;
  for (let n = 0; n < microtasks; n++) await Promise.resolve();
  if (reports) {
    task.log(`before ${key}`);
    task.status(`before ${key}`);
  }
  try {
    const value = described(await ended(entry, task, witness));
    if (reports) task.progress(Number(key.slice(1)) + 1);
    if (reports) task.log(`after ${key}`);
    return `${key}: ${value}`;
  } catch (error) {
    if (!caught || task.signal.aborted) throw error;
    return `${key} threw ${described(error)}`;
  }
}

function ended(entry: Entry, task: Calls, witness: Witness): Promise<unknown> {
  const { key } = entry;
  return begin(entry, task, witness).then(
    (value) => {
      if (!task.signal.aborted) witness.ended(key, described(value));
      return value;
    },
    (error: unknown) => {
      if (!task.signal.aborted) witness.ended(key, `threw ${described(error)}`);
      throw error;
    },
  );
}

function begin({ kind, key, ms, n }: Entry, task: Calls, witness: Witness): Promise<unknown> {
  const event = eventNames[n % eventNames.length] ?? "x";
  switch (kind) {
    case "step":
    case "slow step":
      return task.step(key, async () => valueOf(n, await witness.ran(key, n, kind === "slow step")));
    case "limited step":
      return task.step(key, { limit: limitName }, async () => valueOf(n, await witness.ran(key, n, n === 4)));
    case "loud step": {
      let failures = 0;
      return task.step(key, { retries: 1, backoff: { firstMs: ms, maxMs: 900_000 } }, async () => {
        task.log(inStep(key));
        const number = await witness.ran(key, n, false);
        if (failures++ < n - 3) throw errorOf(n, number);
        return valueOf(n, number);
      });
    }
    case "poll": {
      const options = {
        every: Math.max(ms, 700),
        maxEvery: 900_000,
        retries: 1,
        ...(n < 2 && { timeoutMs: 3_000 }),
      };
      return task.poll(key, options, async () => {
        const number = await witness.ran(key, n, false);
        if (number % 4 === 0) throw errorOf(n, number);
        return number % 4 < n ? { ready: valueOf(n, number) } : undefined;
      });
    }
    case "failing step":
      return task.step(key, async () => {
        throw errorOf(n, await witness.ran(key, n, false));
      });
    case "retried step": {
      let failures = 0;
      return task.step(key, { retries: 2, backoff: { firstMs: ms, maxMs: 900_000 } }, async () => {
        const number = await witness.ran(key, n, false);
        if (failures++ < n) throw errorOf(n, number);
        return valueOf(n, number);
      });
    }
    case "sleep":
      return task.sleep(key, ms);
    case "ask":
      return task.elicit(key, question);
    case "ask in time":
      return task.elicit(key, question, { timeoutMs: ms });
    case "event":
      return task.waitForEvent(key, event);
    case "event in time":
      return task.waitForEvent(key, event, { timeoutMs: ms });
    case "call":
      return task.call(key, "child", { n });
  }
}

/** What upstream clients return: its data is what the handler gets. */
class Row {
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }
}

function valueOf(n: number, number: number): unknown {
  const values = [
    `run ${number}`,
    { at: new Date(number), list: [undefined, BigInt(number)] },
    new Map([[number, new Set([new URL(`https://example.org/${number}`)])]]),
    undefined,
    number % 2 === 0 ? new Row(number) : new RangeError("A value may be an error.", { cause: { number } }),
  ];
  return values[n % values.length];
}

function errorOf(n: number, number: number): unknown {
  const cause = new TypeError(`cause ${number}`, { cause: new Error("the first cause") });
  const errors = [
    new Error(`failed ${number}`, { cause }),
    Object.assign(new RangeError(`failed ${number}`), { code: "EFAILED" }),
    new ProtocolError(-32_000, `failed ${number}`, { number }),
    `a text ${number}`,
    new DOMException(`failed ${number}`, "TimeoutError"),
  ];
  return errors[n % errors.length];
}

/** All that a handler can tell of a value or an error, but for the stack. */
export function described(value: unknown): string {
  if (!(value instanceof Error)) return inspect(value, { depth: 9, breakLength: Infinity, sorted: true });
  const { name, message, cause } = value;
  const { code, data } = value as { code?: unknown; data?: unknown };
  const errors = value instanceof AggregateError ? value.errors.map(described) : [];
  return `${name}(${described([message, code, data])}${cause === undefined ? "" : ` < ${described(cause)}`}) ${errors.join(" ")}`;
}
