import type { AdminStore, EndedAs } from "../store/admin-store.ts";
import type { ToolCounts } from "./admin.ts";

export type ToolEnds = Pick<ToolCounts, "completed" | "failed" | "cancelled">;

type Counted = Pick<AdminStore, "count">;

interface Counting {
  readonly counts: Promise<ToolEnds>;
  /** Epoch ms; later it is counted anew. */
  until: number;
}

/** What takes longer (ms) is not counted anew for each who asks. */
const slowMs = 100;
/** It is kept for so many times as long as it took: whoever looks at a page all day takes a fifth of the database at most. */
const keptTimes = 4;

/** How the tasks of each tool ended. In a large database many rows have to be looked at: nobody waits for that twice at the same time, nor again soon after. */
export class EndedCounts {
  readonly #most: number;
  readonly #now: () => number;
  readonly #byTool = new Map<string, Counting>();

  /** No count goes beyond `most`. */
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
