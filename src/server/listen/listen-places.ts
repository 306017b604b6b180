import { maxTaskIds } from "../../generation/2026-07-28/listen.ts";
import { HoldfastError } from "../../task/fault.ts";

/** The limits on listening where the server says nothing else. */
export const defaultListenLimits = { maxListensPerPrincipal: 100, maxIdsPerListen: maxTaskIds } as const;

/** When a stream may have ended, in ms. */
const retryAfterMs = 5_000;

/** How many streams each principal listens on; callers who are not told apart are bounded in total elsewhere. */
export class ListenPlaces {
  readonly #max: number;
  readonly #taken = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns the way to give the place back, once; throws `limit_reached` where there is none. */
  take(principal: string | null): () => void {
    if (principal === null) return () => undefined;
    const taken = this.#taken.get(principal) ?? 0;
    if (taken >= this.#max) {
      const message = `You listen on ${this.#max} streams already: end one, or name more tasks on it.`;
      throw new HoldfastError("limit_reached", message, { data: { retryAfterMs } });
    }
    this.#taken.set(principal, taken + 1);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const left = (this.#taken.get(principal) ?? 1) - 1;
      if (left === 0) this.#taken.delete(principal);
      else this.#taken.set(principal, left);
    };
  }
}
