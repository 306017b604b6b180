import type { Usage } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";

const none: Usage = { unfinished: 0, retained: 0 };

/** The number of tasks, by principal and in total. */
export class UsageCounts {
  readonly #byPrincipal = new Map<string, Usage>();
  #total: Usage = none;

  /** Of all principals if undefined. */
  of(principal: string | undefined): Usage {
    return principal === undefined ? this.#total : (this.#byPrincipal.get(principal) ?? none);
  }

  /** Tasks of callers that are not distinguished count only in the total; tasks made by other tasks do not count. */
  add({ principal, parent }: TaskRecord, unfinished: number, retained: number): void {
    if (parent !== null) return;
    this.#total = sum(this.#total, unfinished, retained);
    if (principal === null) return;
    const usage = sum(this.of(principal), unfinished, retained);
    if (usage.retained === 0) this.#byPrincipal.delete(principal);
    else this.#byPrincipal.set(principal, usage);
  }
}

function sum(usage: Usage, unfinished: number, retained: number): Usage {
  return { unfinished: usage.unfinished + unfinished, retained: usage.retained + retained };
}
