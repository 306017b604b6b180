import type { TaskWatch } from "./task-watch.ts";

/**
 * The watches of one client by task id, so that a task with several handles is polled and asked about once. A watch
 * lives as long as a handle or a wait for its task, so a client that only starts calls does not grow.
 */
export class TaskWatches {
  readonly #byId = new Map<string, WeakRef<TaskWatch>>();
  /** Watches that live without a handle. */
  readonly #retained = new Map<string, TaskWatch>();
  readonly #collected = new FinalizationRegistry<string>((taskId) => {
    // A newer watch may have its place.
    if (this.#byId.get(taskId)?.deref() === undefined) this.#byId.delete(taskId);
  });

  get(taskId: string): TaskWatch | undefined {
    return this.#byId.get(taskId)?.deref();
  }

  add(watch: TaskWatch): void {
    this.#byId.set(watch.taskId, new WeakRef(watch));
    this.#collected.register(watch, watch.taskId);
  }

  /** Keeps the watch until its task has ended, even without a handle. */
  retain(watch: TaskWatch): void {
    this.#retained.set(watch.taskId, watch);
  }

  forget(taskId: string): void {
    this.#byId.delete(taskId);
    this.#retained.delete(taskId);
  }

  /** Only retained watches can have open questions. */
  close(reason: unknown): void {
    for (const watch of this.#retained.values()) watch.close(reason);
  }
}
