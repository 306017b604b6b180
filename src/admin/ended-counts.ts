import type { AdminStore, EndedAs } from "../store/admin-store.ts";
import type { ToolCounts } from "./admin.ts";

export type ToolEnds = Pick<ToolCounts, "completed" | "failed" | "cancelled">;

type Counted = Pick<AdminStore, "count">;

interface Counting {
  readonly counts: Promise<ToolEnds>;
  /** Epoch ms; the count is repeated after that. */
  until: number;
}

/** A count that takes longer (ms) is cached. */
const slowMs = 100;
/** How many times as long as it took a result is kept, so that a page left open uses at most a fifth of the database. */
const keptTimes = 4;

/** How the tasks of each tool ended. A large database takes long to count, so concurrent and soon repeated reads share one result. */
export class EndedCounts {
  readonly #most: number;
  readonly #now: () => number;
  readonly #byTool = new Map<string, Counting>();

  /** Counts end at `most`. */
  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  of(admin: Counted, tool: string): Promise<ToolEnds> {
    const known = this.#byTool.get(tool);
    if (known !== undefined && this.#now() < known.until) return known.counts;
    const counting: Counting = { counts: this.#count(admin, tool), until: Infinity };
    this.#byTool.set(tool, counting);
    const begun = this.#now();
    const forget = (): void => void (this.#byTool.get(tool) === counting && this.#byTool.delete(tool));
    counting.counts.then(() => {
      const took = this.#now() - begun;
      if (took < slowMs) forget();
      else counting.until = this.#now() + keptTimes * took;
    }, forget);
    return counting.counts;
  }

  async #count(admin: Counted, tool: string): Promise<ToolEnds> {
    const of = (as: EndedAs): Promise<number> => admin.count({ of: "ended", tool, as }, this.#most);
    const [completed, error, errorResult, cancelled] = await Promise.all([
      of("result"),
      of("error"),
      of("error_result"),
      of("cancelled"),
    ]);
    return { completed, failed: Math.min(this.#most, error + errorResult), cancelled };
  }
}
