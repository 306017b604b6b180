import { isDeepStrictEqual } from "node:util";
import { hasEnded, type RemoteTask } from "./remote-task.ts";

/** One poll, or one stream of pushes: what it tells is later than all that was known when it was asked for. */
export interface Source {
  /** How many changes were known then; counts on with its own. */
  since: number;
}

/**
 * `news` was taken over; `same` is known; `stale` is older than what is known; `unclear` may be older or newer, which a
 * further poll tells.
 */
export type Verdict = "news" | "same" | "stale" | "unclear";

/**
 * What is known of one task, from polls and pushes that overtake each other. It never goes back: an end is final, and of
 * two states whose sources do not say which is later, the one that the server changed last counts.
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

  /** When the server last told of the task, by the time that has elapsed here. */
  get contactAt(): number {
    return this.#contactAt;
  }

  get hasEnded(): boolean {
    return this.#task !== undefined && hasEnded(this.#task);
  }

  /** To be taken before the server is asked. */
  source(): Source {
    return { since: this.#changes };
  }

  take(task: RemoteTask, source: Source, now: number): Verdict {
    const known = this.#task;
    const isSame = known !== undefined && isDeepStrictEqual(task, known);
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
    return "news";
  }
}
