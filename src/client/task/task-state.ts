import { hasEnded, type RemoteTask } from "./remote-task.ts";
import { sameJson } from "../../generation/same-json.ts";

/** One poll, or one stream of pushes. Its states are newer than everything known when it was requested. */
export interface Source {
  /** The number of changes known then, or at its own last change. */
  since: number;
}

/**
 * `updated`: the state was stored; `same`: it was known; `stale`: it is older than the known one; `unclear`: it may
 * be older or newer, and another poll decides.
 */
export type Verdict = "updated" | "same" | "stale" | "unclear";

/**
 * The newest known state of one task, from polls and pushes that can overtake each other. An end is final. If the
 * order of two states is unclear from their sources, the one with the later `lastUpdatedAt` counts.
 *
 * ```ts
 * const poll = state.source();
 * const verdict = state.take(await ask(), poll, clock.elapsed());
 * ```
 */
export class TaskState {
  #task: RemoteTask | undefined;
  #contactAt = 0;
  #changes = 0;

  get task(): RemoteTask | undefined {
    return this.#task;
  }

  /** When the server last reported the task, by the monotonic clock. */
  get contactAt(): number {
    return this.#contactAt;
  }

  get hasEnded(): boolean {
    return this.#task !== undefined && hasEnded(this.#task);
  }

  /** Call this before the request. */
  source(): Source {
    return { since: this.#changes };
  }

  take(task: RemoteTask, source: Source, now: number): Verdict {
    const known = this.#task;
    const isSame = known !== undefined && sameJson(task, known);
    if (known !== undefined && !isSame) {
      if (hasEnded(known)) return "stale";
      const isLater = source.since === this.#changes || hasEnded(task);
      if (!isLater) {
        const lead = Date.parse(task.lastUpdatedAt) - Date.parse(known.lastUpdatedAt);
        if (lead < 0) return "stale";
        if (!(lead > 0)) return "unclear";
      }
    }
    this.#contactAt = now;
    if (isSame) return "same";
    this.#task = task;
    source.since = ++this.#changes;
    return "updated";
  }
}
