import type { ClientWaitSpan } from "../client-telemetry.ts";

/**
 * One period of polling for the waits that are open at the time. It stops with the last of them; a later wait
 * starts another run, so a failure reaches only the waits that were open.
 */
export class PollRun {
  readonly #stop = new AbortController();
  /** Aborts when all waits have ended, the client closes, or polling failed. */
  readonly signal: AbortSignal;
  readonly #wakeups = new Set<() => void>();
  #waits = 0;
  /** Traced waits, in the order in which they began. */
  readonly #spans = new Set<ClientWaitSpan>();
  #failure: { readonly error: unknown } | undefined;

  constructor(closing: AbortSignal) {
    this.signal = AbortSignal.any([this.#stop.signal, closing]);
  }

  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Whether a new wait needs another run. */
  get hasEnded(): boolean {
    return this.signal.aborted;
  }

  /** The wait for which polls are made and questions asked: the oldest open one. */
  get span(): ClientWaitSpan | undefined {
    const [oldest] = this.#spans;
    return oldest;
  }

  addWait(span: ClientWaitSpan | undefined): void {
    this.#waits++;
    if (span !== undefined) this.#spans.add(span);
  }

  removeWait(span: ClientWaitSpan | undefined): void {
    if (span !== undefined) this.#spans.delete(span);
    if (--this.#waits === 0) this.#stop.abort(new Error("No caller is waiting for the task"));
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stop.abort(error);
    this.wake();
  }

  wake(): void {
    for (const wakeUp of this.#wakeups) wakeUp();
  }

  /** Resolves at the next change. Rejects with the signal's reason. */
  async nextChange(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => reject(signal?.reason as Error);
    this.#wakeups.add(resolve);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      await promise;
    } finally {
      this.#wakeups.delete(resolve);
      signal?.removeEventListener("abort", onAbort);
    }
  }
}
