import type { ChangedBy, TaskChange } from "./store.ts";
import { HoldfastError } from "../task/fault.ts";

type Listener<Change> = (changes: readonly Change[] | "gap", by: ChangedBy) => void;

/** Tells listeners about commits. */
export class ChangeFeed<Change = TaskChange> {
  readonly #listeners = new Set<{ readonly listener: Listener<Change> }>();

  subscribe(listener: Listener<Change>): () => void {
    // A separate wrapper, so that a function can subscribe twice and unsubscribe once.
    const subscription = { listener };
    this.#listeners.add(subscription);
    return () => void this.#listeners.delete(subscription);
  }

  /** Call it after the commit. A listener that throws affects neither the store nor other listeners. */
  publish(changes: readonly Change[] | "gap", by: ChangedBy): void {
    if (changes.length === 0) return;
    // A copy: a listener subscribed by another one must not get earlier changes.
    for (const subscription of Array.from(this.#listeners)) {
      if (!this.#listeners.has(subscription)) continue;
      try {
        subscription.listener(changes, by);
      } catch (error) {
        process.emitWarning(`A listener of the store threw: ${String(error)}`, "HoldfastWarning");
      }
    }
  }
}

/** Large texts (arguments, outcomes, answers) are at most this deep in a command. */
const depth = 3;

/** The approximate size of a command's texts in bytes: enough to tell large commands from small ones. */
export function commandSize(value: unknown, level = 0): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || level === depth) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + commandSize(member, level + 1), 0);
}

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
    if (this.#state !== "new")
      throw new HoldfastError(
        "configuration",
        "The store is already open. Give each createTasks a store of its own.",
      );
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
