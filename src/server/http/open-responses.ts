import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

/** How soon the end of the last response is noticed. */
const lookMs = 10;

/** Counts the responses that are not finished, so that a server can end when there are none. */
export class OpenResponses {
  readonly #open = new Set<ServerResponse>();

  add(response: ServerResponse): void {
    this.#open.add(response);
    response.once("close", () => void this.#open.delete(response));
  }

  /** Resolves when all have finished but those of which `waiting` tells, at the latest after `ms` milliseconds. */
  async drained(ms: number, waiting: () => number = () => 0): Promise<void> {
    const over = performance.now() + ms;
    // A request that begins to wait is no event here, and this is no hot path.
    while (this.#open.size > waiting() && performance.now() < over) await pause(Math.min(ms, lookMs));
  }
}
