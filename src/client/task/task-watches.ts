import {
  TaskWatch,
  type KnownTask,
  type TaskOrigin,
  type WatchLifetimes,
  type WatchServices,
} from "./task-watch.ts";

/**
 * The watches of one client by task id, so that a task with several handles is polled and asked about once. A watch
 * lives as long as a handle or a wait for its task, so a client that only starts calls does not grow.
 */
export class TaskWatches implements WatchLifetimes {
  readonly #services: WatchServices;
  readonly #onForget: (taskId: string) => void;
  readonly #byId = new Map<string, WeakRef<TaskWatch>>();
  /** Watches that live without a handle. */
  readonly #retained = new Map<string, TaskWatch>();
  readonly #collected = new FinalizationRegistry<string>((taskId) => {
    // A newer watch may have replaced it.
    if (this.#byId.get(taskId)?.deref() === undefined) this.#byId.delete(taskId);
  });

  constructor(services: Omit<WatchServices, "watches">, onForget: (taskId: string) => void) {
    this.#services = { ...services, watches: this };
    this.#onForget = onForget;
  }

  /** The watch of a task; a new one starts with what is `known` about the task. */
  watch(taskId: string, origin: TaskOrigin, known: KnownTask): TaskWatch {
    const existing = this.#byId.get(taskId)?.deref();
    if (existing !== undefined) return existing;
    const watch = new TaskWatch(taskId, origin, this.#services, known);
    this.#byId.set(taskId, new WeakRef(watch));
    this.#collected.register(watch, taskId);
    return watch;
  }

  retain(watch: TaskWatch): void {
    this.#retained.set(watch.taskId, watch);
  }

  forget(taskId: string): void {
    this.#byId.delete(taskId);
    this.#retained.delete(taskId);
    this.#onForget(taskId);
  }

  /** Only retained watches can have open questions. */
  close(reason: unknown): void {
    for (const watch of this.#retained.values()) watch.close(reason);
  }
}
