import { isUnreadable } from "../../task/fault.ts";
import type { HandlerName } from "../../task/queue.ts";
import type { Services } from "../services.ts";
import { orphanFailure } from "./recovery-plan.ts";

/** Maximum number of tasks read, and ended, at a time. */
const page = 500;

const shortestPauseMs = 1_000;

/**
 * Fails queued tasks whose tool no process on the store has. They wait for a grace period first, because the next process may have the
 * tool.
 */
export class Orphans {
  readonly #services: Services;
  #seen: ReadonlySet<string> = new Set();
  #cancelTimer: () => void = () => undefined;
  #stopped = false;

  constructor(services: Services) {
    this.#services = services;
  }

  async start(): Promise<void> {
    await this.#look();
    this.#again(this.#services.options.unregisteredGraceMs);
  }

  /** Other processes may have started: if a tool was there for a while, its grace period starts again. */
  onOthers(): void {
    if (this.#seen.size > 0) void this.#forgetServed();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer();
  }

  #again(ms: number): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#services.clock.after(ms, () => void this.#failSeen());
  }

  /** Fails tasks from the last look that still have no tool. */
  async #failSeen(): Promise<void> {
    try {
      const before = this.#seen;
      for (const handler of await this.#look()) {
        if (before.has(nameOf(handler))) await this.#failAll(handler);
      }
    } catch (error) {
      if (!this.#stopped) this.#services.onError(error);
    }
    this.#again(Math.max(this.#services.options.unregisteredGraceMs, shortestPauseMs));
  }

  async #look(): Promise<readonly HandlerName[]> {
    const orphaned = await this.#services.store.orphanedHandlers();
    this.#seen = new Set(orphaned.map(nameOf));
    return orphaned;
  }

  async #forgetServed(): Promise<void> {
    try {
      const orphaned = new Set((await this.#services.store.orphanedHandlers()).map(nameOf));
      this.#seen = new Set([...this.#seen].filter((name) => orphaned.has(name)));
    } catch (error) {
      if (!this.#stopped) this.#services.onError(error);
    }
  }

  async #failAll(handler: HandlerName): Promise<void> {
    const { store } = this.#services;
    for (;;) {
      const ids = await store.queued(handler, page);
      const failed = await Promise.all(ids.map((id) => this.#fail(id, handler.tool)));
      if (ids.length < page || !failed.includes(true) || this.#stopped) return;
    }
  }

  /** False if it stays queued. */
  async #fail(id: string, tool: string): Promise<boolean> {
    const { store, clock, unreadable } = this.#services;
    const ending = orphanFailure(tool);
    try {
      const failure = { type: "fail", now: clock.now(), id, ...ending, orphaned: true } as const;
      return (await store.write<"fail">(failure)).ok;
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable.report(id, error);
      return false;
    }
  }
}

function nameOf({ method, tool }: HandlerName): string {
  return JSON.stringify([method, tool]);
}
