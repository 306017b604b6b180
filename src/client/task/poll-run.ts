/**
 * One stretch of polling and those who wait for it. It stops when the last of them leaves; whoever comes later starts
 * another, so a fault reaches those who waited through it and nobody else.
 */
export class PollRun {
  readonly #stop = new AbortController();
  /** Stops the polling: everybody left, the client closes, or there was a fault. */
  readonly signal: AbortSignal;
  readonly #sleepers = new Set<() => void>();
  #members = 0;
  #fault: { readonly error: unknown } | undefined;

  constructor(closing: AbortSignal) {
    this.signal = AbortSignal.any([this.#stop.signal, closing]);
  }

  get fault(): { readonly error: unknown } | undefined {
    return this.#fault;
  }

  /** Nobody may join any more. */
  get isOver(): boolean {
    return this.signal.aborted || this.#fault !== undefined;
  }

  join(): void {
    this.#members++;
  }

  leave(): void {
    if (--this.#members === 0) this.#stop.abort(new Error("Nobody waits for the task any more"));
  }

  fail(error: unknown): void {
    this.#fault ??= { error };
    this.#stop.abort(error);
    this.wake();
  }

  wake(): void {
    for (const wakeUp of this.#sleepers) wakeUp();
  }

  /** Resolves at the next change; rejects with the caller's signal's reason. */
  async change(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => reject(signal?.reason as Error);
    this.#sleepers.add(resolve);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      await promise;
    } finally {
      this.#sleepers.delete(resolve);
      signal?.removeEventListener("abort", onAbort);
    }
  }
}
