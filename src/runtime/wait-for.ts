/**
 * Resolves when what `begin` set going calls back; rejects with the signal's reason when it aborts before. `begin` gets
 * the callback and returns the way to call it off.
 */
export function waitFor(begin: (done: () => void) => () => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      callOff();
      reject(signal.reason as Error);
    };
    const callOff = begin(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Calls `run` once when `signal` aborts, at once where it has; returns the way to call it off. */
export function whenAborted(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) run();
  else signal.addEventListener("abort", run, { once: true });
  return () => signal.removeEventListener("abort", run);
}
