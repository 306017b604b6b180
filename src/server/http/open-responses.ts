import type { ServerResponse } from "node:http";

/** Counts the responses that are not finished, so that a server can end when there are none. */
export class OpenResponses {
  readonly #open = new Set<ServerResponse>();
  #onEmpty: (() => void) | undefined;

  add(response: ServerResponse): void {
    this.#open.add(response);
    response.once("close", () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#onEmpty?.();
    });
  }

  /** Resolves when all have finished, at the latest after `ms` milliseconds. */
  async drained(ms: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const deadline = setTimeout(resolve, ms);
      this.#onEmpty = () => {
        clearTimeout(deadline);
        resolve();
      };
    });
  }
}
