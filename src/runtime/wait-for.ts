/**
 * Resolves when what `begin` started calls back; rejects with the signal's reason if it aborts first. `begin` gets the callback and returns
 * a function that cancels it.
 */
export function waitFor(begin: (done: () => void) => () => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      stopWaiting();
      reject(signal.reason as Error);
    };
    const stopWaiting = begin(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Calls `run` once when `signal` aborts, or at once if it has; returns a function that cancels this. */
export function whenAborted(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) run();
  else signal.addEventListener("abort", run, { once: true });
  return () => signal.removeEventListener("abort", run);
}
