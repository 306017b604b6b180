import type { TaskChange } from "../store/store.ts";
import { isUnreadable } from "../task/fault.ts";
import type { TaskRecord } from "../task/record.ts";
import { nextTurn } from "./wait-for.ts";
import type { Services } from "./services.ts";
import { untilStoreAnswers } from "./observed-store.ts";

/** Called when a task changed, without details: read it again. Must not throw. */
export type Watcher = (id: string) => void;

/** Watchers by task. A change only costs its own watchers, however many others there are. */
export class Watchers {
  readonly #byTask = new Map<string, Set<{ readonly watcher: Watcher }>>();

  /** Calls `watcher` after every committed change of these tasks; returns a function that stops it. */
  watch(ids: readonly string[], watcher: Watcher): () => void {
    // An object of its own, so that one function can watch twice and stop once.
    const watch = { watcher };
    for (const id of ids) {
      const watches = this.#byTask.get(id) ?? new Set();
      this.#byTask.set(id, watches.add(watch));
    }
    return () => {
      for (const id of ids) {
        const watches = this.#byTask.get(id);
        watches?.delete(watch);
        if (watches?.size === 0) this.#byTask.delete(id);
      }
    };
  }

  onChanges(changes: readonly TaskChange[] | "gap"): void {
    const ids = changes === "gap" ? [...this.#byTask.keys()] : changes.map(({ id }) => id);
    for (const id of ids) {
      for (const { watcher } of this.#byTask.get(id) ?? []) watcher(id);
    }
  }
}

/** Stores may read synchronously: more reads in one turn would block the rest of the process. */
const readsPerTurn = 500;

/** Holds something of tasks and reacts only to their records, not to what changed them. */
export interface TaskHolder {
  /** The tasks that it holds something of. */
  held(): Iterable<string>;
  /** Whether it holds something of the task, and has not seen this version of its record. */
  isBehind(id: string, version: number): boolean;
  /** The highest version of its record that was seen; undefined if there was none. */
  seen(id: string): number | undefined;
  /**
   * The current record; undefined: the task was deleted. `isUndone`: it is older than what was seen before it was read, as after a failover to
   * a server that lacks the newest changes.
   */
  saw(id: string, task: TaskRecord | undefined, isUndone: boolean): void;
}

/**
 * Reads the records of held tasks that have changed. A change is reported before its write resolves, so the holder that made it is asked in
 * a later turn of the event loop: by then it has seen the record, and nothing is read. If a change is never reported, it is seen late:
 * every write of an attempt also shows it the record, and refuses an attempt that lost its task.
 */
export class ChangedTasks {
  readonly #services: Services;
  readonly #holders: readonly TaskHolder[];
  /** The highest reported version of each changed task, until it is checked. Infinity: read it in any case. */
  #pending = new Map<string, number>();
  #gap = false;
  #looks = false;
  readonly #reading = new Set<string>();
  /** Tasks that changed while they were read. */
  readonly #again = new Set<string>();
  readonly #stopped = new AbortController();

  constructor(services: Services, holders: readonly TaskHolder[]) {
    this.#services = services;
    this.#holders = holders;
  }

  onChanges(changes: readonly TaskChange[] | "gap"): void {
    if (changes === "gap") this.#gap = true;
    else for (const { id, version } of changes) this.#note(id, version ?? Infinity);
    if (this.#looks) return;
    this.#looks = true;
    setImmediate(() => void this.#look());
  }

  stop(): void {
    this.#stopped.abort();
  }

  #note(id: string, version: number): void {
    this.#pending.set(id, Math.max(this.#pending.get(id) ?? 0, version));
  }

  async #look(): Promise<void> {
    this.#looks = false;
    if (this.#gap)
      for (const holder of this.#holders) for (const id of holder.held()) this.#note(id, Infinity);
    this.#gap = false;
    const pending = this.#pending;
    this.#pending = new Map();
    let reads = 0;
    for (const [id, version] of pending) {
      if (this.#stopped.signal.aborted) return;
      if (!this.#holders.some((holder) => holder.isBehind(id, version))) continue;
      void this.#read(id);
      if (++reads % readsPerTurn === 0) await nextTurn();
    }
  }

  async #read(id: string): Promise<void> {
    if (this.#reading.has(id)) {
      this.#again.add(id);
      return;
    }
    this.#reading.add(id);
    const { store, unreadable, onError } = this.#services;
    const { signal } = this.#stopped;
    try {
      do {
        this.#again.delete(id);
        const seen = this.#holders.map((holder) => holder.seen(id) ?? 0);
        const task = await untilStoreAnswers(() => store.get(id), this.#services, signal);
        for (const [index, holder] of this.#holders.entries())
          holder.saw(id, task, task !== undefined && task.version < (seen[index] ?? 0));
      } while (this.#again.has(id));
    } catch (error) {
      if (isUnreadable(error)) unreadable.report(id, error);
      else if (!signal.aborted) onError(error);
    } finally {
      this.#reading.delete(id);
      this.#again.delete(id);
    }
  }
}
