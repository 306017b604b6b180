import { hasHandler, type StoreOwner } from "../../task/owner.ts";
import type { TaskRecord } from "../../task/record.ts";

interface Owner extends StoreOwner {
  lives: boolean;
}

/** Who has the database open. An owner that is gone is known until its running tasks are reclaimed. */
export class MemoryOwners {
  readonly #owners = new Map<string, Owner>();
  readonly #lost = new Set<string>();

  add(owner: StoreOwner): void {
    this.#owners.set(owner.id, { ...owner, lives: true });
  }

  /** The owner has closed its store. */
  end(id: string): void {
    const owner = this.#owners.get(id);
    if (owner !== undefined) owner.lives = false;
  }

  /** The owner is taken for dead, and may not write any more. */
  kill(id: string): void {
    this.end(id);
    this.#lost.add(id);
  }

  hasLost(id: string): boolean {
    return this.#lost.has(id);
  }

  forget(id: string): void {
    this.#owners.delete(id);
  }

  lives(id: string): boolean {
    return this.#owners.get(id)?.lives === true;
  }

  /** Queued tasks of others are left to them until their running ones are reclaimed. */
  isKnown(id: string): boolean {
    return this.#owners.has(id);
  }

  gone(): readonly string[] {
    return [...this.#owners.values()].filter(({ lives }) => !lives).map(({ id }) => id);
  }

  get living(): number {
    return this.#owners.size - this.gone().length;
  }

  serve(task: Pick<TaskRecord, "method" | "tool">): boolean {
    return [...this.#owners.values()].some(({ lives, handlers }) => lives && hasHandler(handlers, task));
  }
}
