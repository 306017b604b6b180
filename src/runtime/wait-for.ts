/** Resolves in the next turn of the event loop, after what waits there. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Resolves when what `begin` started calls back; rejects with the signal's reason if it aborts first. `begin` gets the callback, which it
 * may call before it returns, and another one that rejects, and returns a function that cancels it. Either way nothing stays: a listener
 * left on a signal would keep all that waited, and `AbortSignal.any` itself.
 */
export async function waitFor(
  begin: (done: () => void, fail: (reason: Error) => void) => () => void,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stopListening = whenAborted(signal, () => reject(signal.reason as Error));
  let stopWaiting = (): void => undefined;
  try {
    stopWaiting = begin(resolve, reject);
    await promise;
  } finally {
    stopListening();
    stopWaiting();
  }
}

/** Remembers that something has changed until that is waited for: nothing is missed between a look and the wait. */
export class Changes {
  #changed = false;
  #wake = (): void => undefined;

  readonly changed = (): void => {
    this.#changed = true;
    this.#wake();
  };

  /** Whoever looks after this sees what has changed so far. */
  forget(): void {
    this.#changed = false;
  }

  /** Resolves at the next change since it was told to forget; rejects with the reason of the signal. */
  async next(signal: AbortSignal): Promise<void> {
    await waitFor((done) => {
      this.#wake = done;
      if (this.#changed) done();
      return () => undefined;
    }, signal);
  }
}

/** Calls `run` once when `signal` aborts, or at once if it has; returns a function that cancels this. */
export function whenAborted(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) run();
  else signal.addEventListener("abort", run, { once: true });
  return () => signal.removeEventListener("abort", run);
}

/**
 * A controller whose signal also aborts when `signal` does, until `release`. For signals that authors get, in place of `AbortSignal.any`:
 * with a listener that is left on it, Node keeps that for good, and all that the listener holds.
 */
export function followerOf(signal: AbortSignal): {
  readonly controller: AbortController;
  readonly release: () => void;
} {
  const controller = new AbortController();
  return { controller, release: whenAborted(signal, () => controller.abort(signal.reason)) };
}
