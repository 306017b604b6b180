import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

/** How soon the end of the last response is noticed. */
const lookMs = 10;

/** What to wait for, and how long; times in milliseconds. */
export interface Draining {
  readonly deadlineMs: number;
  /** How long those may hold it up that wait for more from their clients. */
  readonly lastWordMs?: number;
  /** How many responses wait for something that may take any time. */
  readonly waiting?: () => number;
  /** How many wait for another request of the same client, which has nowhere to send it. */
  readonly asking?: () => number;
}

/** Counts the responses that are not finished, so that a server can end when there are none. */
export class OpenResponses {
  readonly #open = new Set<ServerResponse>();

  add(response: ServerResponse): void {
    this.#open.add(response);
    response.once("close", () => void this.#open.delete(response));
  }

  /**
   * Resolves when all have finished but those that `waiting` tells of, at the latest when its time is over, with what is left
   * of it.
   */
  async drained({ deadlineMs, lastWordMs = deadlineMs, waiting, asking }: Draining): Promise<number> {
    const start = performance.now();
    // A request that begins to wait is no event here, and this is no hot path.
    for (;;) {
      const passed = performance.now() - start;
      const late = passed < lastWordMs ? 0 : this.#incomplete + (asking?.() ?? 0);
      if (this.#open.size <= (waiting?.() ?? 0) + late || passed >= deadlineMs) {
        return Math.max(0, Math.floor(deadlineMs - passed));
      }
      await pause(Math.min(deadlineMs, lookMs));
    }
  }

  /** How many answer requests that have not come to their end. */
  get #incomplete(): number {
    return [...this.#open].filter(({ req }) => !req.complete).length;
  }
}
