import { isLost } from "../../store/lost-store.ts";
import { isUnreadable } from "../../task/fault.ts";
import type { HandlerName } from "../../task/queue.ts";
import type { Services } from "../services.ts";

const page = 500;

/** Tries blocked tasks again when this process starts, and when its tools change: its code may be able to continue them. */
export class BlockedTasks {
  readonly #services: Services;
  readonly #onClaimable: () => void;
  #stopped = false;
  #looking = false;
  #again = false;

  /** `onClaimable` is called when there may be tasks to claim. */
  constructor(services: Services, onClaimable: () => void) {
    this.#services = services;
    this.#onClaimable = onClaimable;
  }

  stop(): void {
    this.#stopped = true;
  }

  /** This process has tools that it did not have before, or others under their names. */
  async retry(): Promise<void> {
    this.#again = true;
    if (this.#looking) return;
    this.#looking = true;
    const { registry, options, onError } = this.#services;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        for (const handler of registry.handlers(options.roles)) await this.#retryAll(handler);
      }
    } catch (error) {
      if (!this.#stopped && !isLost(error)) onError(error); // by themselves they are tried again, too
    } finally {
      this.#looking = false;
    }
  }

  async #retryAll(handler: HandlerName): Promise<void> {
    const { store } = this.#services;
    for (let after = ""; !this.#stopped;) {
      const ids = await store.queued(handler, { after, limit: page, blocked: true });
      await Promise.all(ids.map((id) => this.#retry(id)));
      if (ids.length > 0) this.#onClaimable();
      const last = ids.at(-1);
      if (last === undefined || ids.length < page) return;
      after = last;
    }
  }

  async #retry(id: string): Promise<void> {
    const { store, clock, unreadable } = this.#services;
    try {
      await store.write({ type: "unblock", now: clock.now(), id });
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable.report(id, error);
    }
  }
}
