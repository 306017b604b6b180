import { isPassing } from "../store/lost-store.ts";
import type { Clock } from "./clock.ts";
import { retryPause } from "./backoff.ts";
import { waitFor } from "./wait-for.ts";

/** What repeated calls of a store need. */
export interface StoreRetrySetup {
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Calls the store, and again while it fails (for example with a full disk): finished work must not be lost to a store that recovers, or
 * that this process rejoins. Rejects when `signal` aborts, and with any fault that does not pass.
 */
export async function untilStoreAnswers<T>(
  ask: () => Promise<T>,
  { clock, onError }: StoreRetrySetup,
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
