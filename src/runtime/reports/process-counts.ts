import { type LossReport, type RefusalReport, type ToolReport, RunningSteps } from "./process-report.ts";
import type { CommandResult, TaskCommand } from "../../task/command.ts";
import type { Clock } from "../clock.ts";
import type { ServerEvent } from "../events/server-event.ts";

/** The ratio between the limits of adjacent buckets, which makes results accurate to within a tenth. */
const step = 1.19;
const logOfStep = Math.log(step);

/** Durations (ms), counted in buckets of a logarithmic scale: bucket number to count. */
export type DurationCounts = Map<number, number>;

/** The first bucket is for durations below a millisecond, the second for those of one. */
export function countDuration(counts: DurationCounts, ms: number): void {
  const bucket = ms < 1 ? 0 : 1 + Math.ceil(Math.log(ms) / logOfStep);
  counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
}

/** The duration (ms) at percentile `share`; null if none was counted. */
export function durationAt(counts: ReadonlyMap<number, number>, share: number): number | null {
  const buckets = [...counts].sort(([a], [b]) => a - b);
  const all = buckets.reduce((sum, [, count]) => sum + count, 0);
  let passed = 0;
  for (const [bucket, count] of buckets) {
    passed += count;
    if (passed >= all * share) return middleOf(bucket);
  }
  return null;
}

function middleOf(bucket: number): number {
  return bucket < 2 ? bucket : Number((step ** (bucket - 1.5)).toPrecision(3));
}

/** Further tools or refusals in a minute are counted together, so that reports do not grow with what clients send. */
const mostTools = 200;
const mostRefusals = 200;
/** The name for these. */
export const others = "(other)";

/** A valid JSON-RPC method. A client may send any text. */
const methodPattern = /^[A-Za-z0-9_$./-]{1,64}$/;

type Counted = "created" | "completed" | "failed" | "cancelled" | "retried";

interface ToolCounts {
  readonly counts: Record<Counted, number>;
  readonly durations: DurationCounts;
}

/** What happened in one minute. */
export class MinuteCounts {
  readonly #tools = new Map<string, ToolCounts>();
  readonly #refusals = new Map<string, RefusalReport>();
  #lost: LossReport | undefined;

  count(tool: string, what: Counted): void {
    this.#of(tool).counts[what]++;
  }

  ended(tool: string, how: "completed" | "failed" | "cancelled", durationMs: number): void {
    const { counts, durations } = this.#of(tool);
    counts[how]++;
    countDuration(durations, durationMs);
  }

  refused(code: string, method: string | undefined): void {
    const named = method === undefined ? null : methodPattern.test(method) ? method : others;
    const key = `${code} ${named ?? ""}`;
    const isKept = this.#refusals.has(key) || this.#refusals.size < mostRefusals;
    const [kept, of] = isKept ? [key, { code, method: named }] : [others, { code: others, method: null }];
    this.#refusals.set(kept, { ...of, count: (this.#refusals.get(kept)?.count ?? 0) + 1 });
  }

  tookOver({ owners, attempts }: LossReport): void {
    const before = this.#lost ?? { owners: 0, attempts: 0 };
    this.#lost = { owners: before.owners + owners, attempts: before.attempts + attempts };
  }

  /** Undefined: none. */
  get lost(): LossReport | undefined {
    return this.#lost;
  }

  get tools(): readonly ToolReport[] {
    return [...this.#tools].map(([tool, { counts, durations }]) => ({
      tool,
      ...counts,
      durations: [...durations],
    }));
  }

  get refusals(): readonly RefusalReport[] {
    return [...this.#refusals.values()];
  }

  #of(tool: string): ToolCounts {
    const name = this.#tools.has(tool) || this.#tools.size < mostTools ? tool : others;
    let of = this.#tools.get(name);
    if (of === undefined) {
      const counts = { created: 0, completed: 0, failed: 0, cancelled: 0, retried: 0 };
      of = { counts, durations: new Map() };
      this.#tools.set(name, of);
    }
    return of;
  }
}

const minuteMs = 60_000;

/** Minutes kept while the store does not accept reports. */
const mostMinutes = 10;

export function minuteOf(time: number): number {
  return Math.floor(time / minuteMs);
}

/** Counts what happens in this process, by minute, until it is reported. */
export class ProcessCounts {
  /** Those that run now. */
  readonly steps = new RunningSteps();
  readonly #clock: Pick<Clock, "now">;
  readonly #minutes = new Map<number, MinuteCounts>();
  #last = 0;
  #onLoss: (() => void) | undefined;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** A command that the store has applied or refused. Looks only at what operators see as numbers, because this is called for every write. */
  wrote(command: TaskCommand, result: CommandResult): void {
    if (!result.ok) return;
    if (command.type === "reclaim" && "reclaimed" in result) return this.#tookOver(command, result.reclaimed);
    if (!("task" in result)) return;
    const { task } = result;
    switch (command.type) {
      case "create":
        if (!("created" in result) || result.created) this.#now().count(task.tool, "created");
        return;
      case "call_tool":
        return this.#now().count(command.child.tool, "created");
      case "retry":
        return this.#now().count(task.tool, "retried");
      case "settle":
      case "fail": {
        const how = command.outcome.kind === "result" ? "completed" : "failed";
        return this.#now().ended(task.tool, how, command.now - task.createdAt);
      }
      case "expire":
        return this.#now().ended(task.tool, "failed", command.now - task.createdAt);
      case "cancel":
        return this.#now().ended(task.tool, "cancelled", command.now - task.createdAt);
      default:
    }
  }

  /** Receives the events of servers, and counts refused requests. */
  count(event: ServerEvent): void {
    if (event.type === "request.refused") this.#now().refused(event.code, event.method);
  }

  /** Calls back whenever tasks of a dead process were taken over: whoever reports that may die next, of the same task. */
  onLoss(listener: () => void): void {
    this.#onLoss = listener;
    if ([...this.#minutes.values()].some(({ lost }) => lost !== undefined)) listener();
  }

  #tookOver({ after }: TaskCommand<"reclaim">, attempts: number): void {
    if (attempts === 0) return;
    this.#now().tookOver({ owners: after === "" ? 1 : 0, attempts });
    this.#onLoss?.();
  }

  /** Minutes with counts, oldest first. */
  minutes(): readonly (readonly [minute: number, counts: MinuteCounts])[] {
    return [...this.#minutes].sort(([a], [b]) => a - b);
  }

  forget(minute: number): void {
    this.#minutes.delete(minute);
  }

  /** Counts in the current minute, not in that in which a command began: a minute that is over and reported gets no more counts. */
  #now(): MinuteCounts {
    const minute = minuteOf(this.#clock.now());
    const isBack = minute < this.#last && this.#last - minute <= 1; // clocks are set back a little
    if (!isBack) this.#last = minute;
    const counts = this.#minutes.get(this.#last) ?? new MinuteCounts();
    if (!this.#minutes.has(this.#last)) {
      this.#minutes.set(this.#last, counts);
      if (this.#minutes.size > mostMinutes) this.forget(Math.min(...this.#minutes.keys()));
    }
    return counts;
  }
}
