import type { TaskRecord } from "../../task/record.ts";
import { isTerminal } from "../../task/outcome.ts";
import { isToWake } from "../../task/queue.ts";
import { compareText } from "./memory-lists.ts";
import { SortedSet } from "./sorted-set.ts";

interface Sweep {
  readonly at: number;
  readonly id: string;
}

/** When the sweeper has work: unfinished tasks to end or wake, and finished ones to delete. */
export class MemorySweeps {
  readonly #due = new SortedSet<Sweep>(compareSweeps);
  readonly #done = new SortedSet<Sweep>(compareSweeps);
  readonly #waiting = new SortedSet<Sweep>(compareSweeps);

  add(task: TaskRecord): void {
    const { id, state, sweepAt } = task;
    if (sweepAt !== null) (isTerminal(state) ? this.#done : this.#due).add({ at: sweepAt, id });
    if (task.runAfter !== null && isToWake(task, Infinity)) this.#waiting.add({ at: task.runAfter, id });
  }

  delete(task: TaskRecord): void {
    const { id, state, sweepAt } = task;
    if (sweepAt !== null) (isTerminal(state) ? this.#done : this.#due).delete({ at: sweepAt, id });
    if (task.runAfter !== null && isToWake(task, Infinity)) this.#waiting.delete({ at: task.runAfter, id });
  }

  /** Waiting queued tasks whose time has come at `now`, earliest first. */
  toWake(now: number, limit: number): readonly string[] {
    return idsUntil(this.#waiting, now, limit);
  }

  /** Unfinished tasks whose end of life has come at `now`, earliest first. */
  due(now: number, limit: number): readonly string[] {
    return idsUntil(this.#due, now, limit);
  }

  /** Finished tasks whose time is over at `now`, earliest first. */
  deletable(now: number, limit: number): readonly string[] {
    return idsUntil(this.#done, now, limit);
  }

  /** The earliest time later than `after`. */
  nextAfter(after: number): number | null {
    const times = [this.#due, this.#done, this.#waiting].flatMap((sweeps) => {
      for (const { at } of sweeps.from({ at: after, id: "" })) if (at > after) return [at];
      return [];
    });
    return times.length === 0 ? null : Math.min(...times);
  }
}

function idsUntil(sweeps: SortedSet<Sweep>, now: number, limit: number): readonly string[] {
  const ids: string[] = [];
  for (const { at, id } of sweeps.from({ at: -Infinity, id: "" })) {
    if (at > now || ids.length >= limit) break;
    ids.push(id);
  }
  return ids;
}

function compareSweeps(a: Sweep, b: Sweep): number {
  return a.at === b.at ? compareText(a.id, b.id) : a.at - b.at;
}
