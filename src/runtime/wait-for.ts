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
