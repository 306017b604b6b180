import { countDuration, type DurationCounts } from "./durations.ts";
import type { LossReport, RefusalReport, ToolReport } from "./process-report.ts";

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
