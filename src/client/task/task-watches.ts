import type { TaskWatch } from "./task-watch.ts";

/**
 * The watches of one client by task id, so that a task with several handles is polled, and asks, once. A watch lives as
 * long as a handle of its task or a wait for it; a client that starts calls and leaves them to others stays small.
 */
export class TaskWatches {
  readonly #known = new Map<string, WeakRef<TaskWatch>>();
  /** Those that live on without a handle. */
  readonly #kept = new Map<string, TaskWatch>();
  readonly #collected = new FinalizationRegistry<string>((taskId) => {
    // Another may have taken its place.
    if (this.#known.get(taskId)?.deref() === undefined) this.#known.delete(taskId);
  });

  get(taskId: string): TaskWatch | undefined {
    return this.#known.get(taskId)?.deref();
  }

  add(watch: TaskWatch): void {
    this.#known.set(watch.taskId, new WeakRef(watch));
    this.#collected.register(watch, watch.taskId);
  }

  /** Until its task is over, whether anybody has a handle or not. */
  keep(watch: TaskWatch): void {
    this.#kept.set(watch.taskId, watch);
  }

  forget(taskId: string): void {
    this.#known.delete(taskId);
    this.#kept.delete(taskId);
  }

  /** Only those that are kept have anything to take back. */
  close(reason: unknown): void {
    for (const watch of this.#kept.values()) watch.close(reason);
  }
}
