import type { ClientClock } from "../clock.ts";
import type { LineListener } from "../task-protocol.ts";

/** How long to wait for a push before reading anyway, since one may be missed (ms). */
const quietMs = 30_000;

/** When to read on in a log or an output: when the server pushes that it has grown, or after a while. */
export class LineUpdates implements LineListener {
  readonly #clock: ClientClock;
  #isLive = false;
  /** Aborts when there may be more lines. */
  #grown = new AbortController();

  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /** Lines that were appended while the server did not push are not pushed later: read now. */
  onLive(isLive: boolean): void {
    this.#isLive = isLive;
    this.#grown.abort();
  }

  onGrown(): void {
    this.#grown.abort();
  }

  /** Resolves when there may be more lines since it last resolved; after `pollMs` if nothing is pushed. Rejects with the signal's reason. */
  async next(pollMs: number, signal: AbortSignal): Promise<void> {
    const grown = this.#grown.signal;
    const ms = this.#isLive ? Math.max(pollMs, quietMs) : pollMs;
    try {
      if (!grown.aborted) await this.#clock.sleep(ms, AbortSignal.any([signal, grown]));
    } catch (error) {
      if (!grown.aborted) throw error;
    }
    signal.throwIfAborted();
    this.#grown = new AbortController();
  }
}
