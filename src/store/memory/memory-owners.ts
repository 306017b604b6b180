import { hasHandler, type HandlerName, type StoreOwner } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";

interface Owner extends StoreOwner {
  handlers: readonly HandlerName[];
  lives: boolean;
  /** Its tasks go to others. */
  retired: boolean;
}

/** The owners that have the database open. A dead owner is known until its running tasks are reclaimed. */
export class MemoryOwners {
  readonly #owners = new Map<string, Owner>();
  readonly #lost = new Set<string>();

  add(owner: StoreOwner): void {
    this.#owners.set(owner.id, { ...owner, lives: true, retired: false });
  }

  setHandlers(id: string, handlers: readonly HandlerName[]): void {
    const owner = this.#owners.get(id);
    if (owner !== undefined) owner.handlers = [...handlers];
  }

  /** The owner has closed its store. */
  end(id: string): void {
    const owner = this.#owners.get(id);
    if (owner !== undefined) owner.lives = false;
  }

  /** Treats the owner as dead: it may no longer write. */
  kill(id: string): void {
    this.end(id);
    this.#lost.add(id);
  }

  hasLost(id: string): boolean {
    return this.#lost.has(id);
  }

  retire(id: string): void {
    const owner = this.#owners.get(id);
    if (owner !== undefined) owner.retired = true;
  }

  forget(id: string): void {
    this.#owners.delete(id);
  }

  lives(id: string): boolean {
    return this.#owners.get(id)?.lives === true;
  }

  /** Tasks queued for another owner stay with it while it has a handler, and until its running ones are reclaimed. */
  keeps(id: string, handler: HandlerName): boolean {
    const owner = this.#owners.get(id);
    return owner?.retired === false && hasHandler(owner.handlers, handler);
  }

  gone(): readonly string[] {
    return [...this.#owners.values()].filter(({ lives }) => !lives).map(({ id }) => id);
  }

  /** The ids of living owners. */
  ids(): readonly string[] {
    return [...this.#owners.values()].filter(({ lives }) => lives).map(({ id }) => id);
  }

  get living(): number {
    return this.ids().length;
  }

  /** A dead owner counts until its tasks are reclaimed. */
  serve(task: Pick<TaskRecord, "method" | "tool">): boolean {
    return [...this.#owners.values()].some(({ retired, handlers }) => !retired && hasHandler(handlers, task));
  }
}
