import { HoldfastError } from "../../task/fault.ts";

/** When a stream may have ended, in ms. */
const retryAfterMs = 5_000;

/** Limits the streams on which each principal listens. Callers without a principal have a limit in total (`http/`). */
export class ListenSlots {
  readonly #max: number;
  readonly #used = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns a function that releases the slot, once; throws `limit_reached` if the principal has none left. */
  acquire(principal: string | null): () => void {
    if (principal === null) return () => undefined;
    const used = this.#used.get(principal) ?? 0;
    if (used >= this.#max) {
      const message = `You already have ${this.#max} listen streams open. End one, or list more tasks on it.`;
      throw new HoldfastError("limit_reached", message, { data: { retryAfterMs } });
    }
    this.#used.set(principal, used + 1);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const remaining = (this.#used.get(principal) ?? 1) - 1;
      if (remaining === 0) this.#used.delete(principal);
      else this.#used.set(principal, remaining);
    };
  }
}
