import { isPassing } from "../store/lost-store.ts";
import type { Clock } from "./clock.ts";
import { retryPause } from "./backoff.ts";
import { waitFor } from "./wait-for.ts";

/** What repeated calls of a store need. */
export interface StorePatience {
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Asks the store, and where it fails (a full disk, for one) asks again until it does not: work that is done must not
 * be lost to a store that recovers, or that this process rejoins. Rejects when `signal` aborts, and with what is no passing fault.
 */
export async function untilStoreAnswers<T>(
  ask: () => Promise<T>,
  { clock, onError }: StorePatience,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error)) throw error;
      onError(error);
      await waitFor((done) => clock.after(retryPause(failures, clock), done), signal);
    }
  }
}
