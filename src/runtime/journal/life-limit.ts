import { HoldfastError } from "../../task/fault.ts";

/** When the task of an attempt must end. Its handler can move this with `task.extend`. */
export class LifeLimit {
  readonly #extended: () => Promise<void>;
  #endsAt: number | null;

  /** `extended` resolves when all of the handler's changes so far are written, and `move` was called. */
  constructor(endsAt: number | null, extended: () => Promise<void>) {
    this.#endsAt = endsAt;
    this.#extended = extended;
  }

  move(endsAt: number | null): void {
    this.#endsAt = endsAt;
  }

  /** Whether the task can live until `at` (epoch ms), as far as known. */
  reaches(at: number): boolean {
    return this.#endsAt === null || at <= this.#endsAt;
  }

  /** The same, including all changes that the handler has made so far. */
  async willReach(at: number): Promise<boolean> {
    if (this.reaches(at)) return true;
    await this.#extended();
    return this.reaches(at);
  }

  /**
   * Rejects with `outlives_task` if the task cannot live until `at` (epoch ms): the wait would never end. It is not journalled, since a
   * replay, which comes later, rejects too.
   */
  async assertReaches(at: number, what: string): Promise<void> {
    await this.#extended();
    if (this.reaches(at)) return;
    throw new HoldfastError(
      "outlives_task",
      `${what} would end at ${iso(at)}, after its task, which ends at ${iso(this.#endsAt ?? at)}. ` +
        "Raise ttlMs or maxRunMs of the tool or the server, or call task.extend first.",
    );
  }
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
