import type { IncomingMessage } from "node:http";

/** How long to wait for a body, which normally arrives with its headers or right after them. */
const promptMs = 100;

/** Bodies that come at once and in one piece, as small ones do. */
export class PromptBodies {
  readonly #delays = new Delays(promptMs);

  /** Calls `received` with the body, or with less of it: then all of it is still to be read from `incoming`. */
  receive(incoming: IncomingMessage, length: number, received: (bytes: Buffer) => void): void {
    const onData = (chunk: Buffer): void => {
      end();
      if (chunk.length < length) {
        incoming.pause();
        incoming.unshift(chunk);
      }
      received(chunk);
    };
    const onLate = (): void => {
      end();
      incoming.pause();
      received(Buffer.alloc(0));
    };
    const inTime = this.#delays.add(onLate);
    const end = (): void => {
      inTime();
      incoming.off("data", onData).off("close", end);
    };
    incoming.on("data", onData).on("close", end);
  }
}

/** Notices what takes longer than `ms`, and at most twice as long. One timer for all: most requests are received at once. */
class Delays {
  readonly #ms: number;
  #new = new Set<() => void>();
  #old = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Calls `late` once; returns the way to call it off. */
  add(late: () => void): () => void {
    const set = this.#new.add(late);
    this.#timer ??= setInterval(() => this.#tick(), this.#ms).unref();
    return () => void set.delete(late);
  }

  #tick(): void {
    const late = this.#old;
    this.#old = this.#new;
    this.#new = new Set();
    for (const each of late) each();
    if (this.#old.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
