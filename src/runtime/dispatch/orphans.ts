import { isUnreadable } from "../../task/fault.ts";
import type { HandlerName } from "../../task/queue.ts";
import type { Services } from "../services.ts";
import { blocking, givenUp } from "../blocking.ts";
import { toolMissing } from "./recovery-plan.ts";

/** Maximum number of tasks read, and blocked, at a time. */
const page = 500;

const shortestPauseMs = 1_000;

/**
 * Blocks queued tasks whose tool no process on the store has. They wait for a grace period first, because the next process may have the
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
    this.#cancelTimer = this.#services.clock.after(ms, () => void this.#blockSeen());
  }

  /** Blocks tasks from the last look that still have no tool. */
  async #blockSeen(): Promise<void> {
    try {
      const before = this.#seen;
      for (const handler of await this.#look()) {
        if (before.has(nameOf(handler))) await this.#blockAll(handler);
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

  async #blockAll(handler: HandlerName): Promise<void> {
    for (const blocked of [true, false]) {
      for (let after = ""; !this.#stopped;) {
        const ids = await this.#services.store.queued(handler, { after, limit: page, blocked });
        await Promise.all(ids.map((id) => this.#block(id, handler.tool)));
        const last = ids.at(-1);
        if (last === undefined || ids.length < page) break;
        after = last;
      }
    }
  }

  /** Fails a task that was blocked for too long. */
  async #block(id: string, tool: string): Promise<void> {
    const { store, clock, options, unreadable } = this.#services;
    try {
      const task = await store.get(id);
      if (task?.state !== "queued") return;
      const now = clock.now();
      const refusal = toolMissing(tool);
      const ending = givenUp(refusal, task, now, options);
      if (ending !== undefined)
        await store.write<"fail">({ type: "fail", now, id, ...ending, orphaned: true });
      else if (task.blocked?.reason !== "tool")
        await store.write({ type: "orphan", now, id, ...blocking(refusal, task, now, options) });
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      unreadable.report(id, error);
    }
  }
}

function nameOf({ method, tool }: HandlerName): string {
  return JSON.stringify([method, tool]);
}
