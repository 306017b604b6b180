/** Settles like `value`, or rejects with the signal's reason as soon as that aborts. */
export async function unlessAborted<Value>(value: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Rejects with the signal's reason when that aborts. */
export async function untilAborted(signal: AbortSignal): Promise<never> {
  return unlessAborted(new Promise<never>(() => undefined), signal);
}

/** Work that no caller waits for: how long it may go on, and where its errors go. */
export class BackgroundWork {
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** Aborts when the client closes or its connection has ended; its reason is the error of all waits. */
  readonly closing: AbortSignal = this.#closing.signal;
  /** Called with errors that fail no call or wait. */
  readonly onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.onError = onError;
  }

  /** Tracks work, so that closing the client waits for it. */
  run(work: Promise<unknown>): void {
    const tracked = work.catch(() => undefined).finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  close(reason: unknown): void {
    this.#closing.abort(reason);
  }

  /** Resolves when nothing is left: work that ends can start further work, such as removing a call from the store. */
  async end(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }
}
