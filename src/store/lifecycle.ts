import { HoldfastError } from "../task/fault.ts";

/**
 * The life of any store: new, open, closed for good. A failed open may be retried. A second open rejects with `configuration`, and all use
 * while it is not open with `store_closed`.
 */
export class Lifecycle {
  #state: "new" | "opening" | "open" | "closed" = "new";
  #opening: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  async open(action: () => Promise<void> | void): Promise<void> {
    if (this.#state === "closed") {
      throw new HoldfastError(
        "store_closed",
        "This store was closed and cannot be opened again. Create another one: sqliteStore(path) has the same tasks, memoryStore() starts empty.",
      );
    }
    if (this.#state !== "new") throw new HoldfastError("configuration", "The store is already open.");
    this.#state = "opening";
    const opening = this.#run(action);
    this.#opening = opening.catch(() => undefined);
    await opening;
  }

  async #run(action: () => Promise<void> | void): Promise<void> {
    try {
      await action();
      this.#state = "open";
    } catch (error) {
      this.#state = "new";
      throw error;
    }
  }

  /** Throws `store_closed` unless the store is open. */
  assertOpen(): void {
    if (this.#state !== "open") throw closed();
  }

  /** Runs `action` once, and only if the store was open. Every call waits for its end. */
  close(action: () => Promise<void> | void): Promise<void> {
    this.#closing ??= this.#close(action);
    return this.#closing;
  }

  async #close(action: () => Promise<void> | void): Promise<void> {
    if (this.#state === "opening") await this.#opening;
    const wasOpen = this.#state === "open";
    this.#state = "closed";
    if (wasOpen) await action();
  }
}

function closed(): HoldfastError {
  return new HoldfastError("store_closed", "The store is not open.");
}
