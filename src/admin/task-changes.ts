import type { Clock } from "../runtime/clock.ts";
import type { StoreChanges, TaskStore } from "../store/store.ts";
import type { TaskChanges } from "./admin.ts";
import { adminOf } from "./admin-store-of.ts";

/** If more tasks change together, the feed only says that any may have changed. */
const mostIds = 200;
/** The pause between two updates of a reader. */
const restMs = 250;
/** After this long without a change, the store is asked whether it still answers. */
const silentMs = 5_000;

/** The tasks that change from now on. Rejects if the store is not open, and soon after it closes. */
export async function* followTasks(
  store: TaskStore,
  after: Clock["after"],
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskChanges, void, undefined> {
  const admin = adminOf(store);
  await admin.paused();
  const changed = new ChangedIds();
  let look = (): void => undefined;
  const isOver = (): boolean => signal?.aborted === true;
  /** Resolves after a time, or earlier when it is over or `isEnough`. */
  const wait = (ms: number, isEnough: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const cancelTimer = after(ms, resolve);
      look = () => {
        if (!isOver() && !isEnough()) return;
        cancelTimer();
        resolve();
      };
      look();
    });
  const unsubscribe = store.subscribe((changes) => {
    changed.add(changes);
    look();
  });
  const onAbort = (): void => look();
  signal?.addEventListener("abort", onAbort);
  try {
    if (!isOver()) yield { tasks: null };
    while (!isOver()) {
      await wait(restMs, () => false);
      while (changed.areNone && !isOver()) {
        await wait(silentMs, () => !changed.areNone);
        if (changed.areNone && !isOver()) await admin.paused();
      }
      if (!isOver()) yield changed.take();
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
    unsubscribe();
  }
}

/** What has changed since it was last taken. */
class ChangedIds {
  /** Null: any task may have. */
  #ids: Set<string> | null = new Set();

  get areNone(): boolean {
    return this.#ids?.size === 0;
  }

  add(changes: StoreChanges): void {
    if (this.#ids === null) return;
    if (changes !== "gap") for (const { id } of changes) this.#ids.add(id);
    if (changes === "gap" || this.#ids.size > mostIds) this.#ids = null;
  }

  take(): TaskChanges {
    const tasks = this.#ids === null ? null : [...this.#ids];
    this.#ids = new Set();
    return { tasks };
  }
}
