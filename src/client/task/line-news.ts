import type { ClientClock } from "../clock.ts";
import type { LineListener } from "../task-protocol.ts";

/** How long a follower whose news are pushed waits before it looks by itself: a push may be missed (ms). */
const quietMs = 30_000;

/** When to read on in a log or an output: as soon as the server says that it has grown, or after a while. */
export class LineNews implements LineListener {
  readonly #clock: ClientClock;
  #isLive = false;
  #news = new AbortController();

  constructor(clock: ClientClock) {
    this.#clock = clock;
  }

  /** What came before it was live, or while it was not, is not pushed. */
  onLive(isLive: boolean): void {
    this.#isLive = isLive;
    this.#news.abort();
  }

  onGrown(): void {
    this.#news.abort();
  }

  /** Resolves when there may be more since it resolved last; after `pollMs` where nothing is pushed. Rejects with the signal's reason. */
  async next(pollMs: number, signal: AbortSignal): Promise<void> {
    const news = this.#news.signal;
    const ms = this.#isLive ? Math.max(pollMs, quietMs) : pollMs;
    try {
      if (!news.aborted) await this.#clock.sleep(ms, AbortSignal.any([signal, news]));
    } catch (error) {
      if (!news.aborted) throw error;
    }
    signal.throwIfAborted();
    this.#news = new AbortController();
  }
}
