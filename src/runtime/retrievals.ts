import type { TaskRecord } from "../task/record.ts";
import type { Services } from "./services.ts";

/** How many of these writes may be under way. Beyond that, the next delivery of a result counts as its first. */
const mostWrites = 1_000;

/**
 * Records who got a result first, for audits (S-095, C-129).
 * - No answer waits for the write, and clients see nothing of it.
 * - A result is recorded at most once, by whichever process is first; a crash may lose it.
 */
export class Retrievals {
  readonly #services: Pick<Services, "store" | "clock" | "onError">;
  /** By the id of the task. */
  readonly #writes = new Map<string, Promise<void>>();

  constructor(services: Pick<Services, "store" | "clock" | "onError">) {
    this.#services = services;
  }

  /** The result of the task, as it was read, goes to its requestor. `via`: the method, or the polling tool, that carries it. */
  deliver({ id, outcomeKind, retrieved }: TaskRecord, via: string): void {
    if (outcomeKind === null || retrieved !== undefined || this.#writes.has(id)) return;
    if (this.#writes.size >= mostWrites) return;
    this.#writes.set(id, this.#write(id, via));
  }

  /** Resolves when the writes that are under way have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#writes.values());
  }

  async #write(id: string, via: string): Promise<void> {
    const { store, clock, onError } = this.#services;
    try {
      await store.write({ type: "retrieve", now: clock.now(), id, via });
    } catch (error) {
      onError(error);
    } finally {
      this.#writes.delete(id);
    }
  }
}
