import type { CommandResult } from "../../task/command.ts";
import type { TaskRecord } from "../../task/record.ts";
import { deadlineAfter } from "../clock.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../observed-store.ts";
import type { Sweeper } from "./sweeper.ts";

/**
 * Cancels tasks, in one of two ways. Cooperatively: the request is durable, and the handler is notified through the change feed, or by running
 * once more if the task was parked. If the handler has not ended after the grace period, a sweeper in any process ends the task. Or at
 * once: the task ends before its handler is notified.
 */
export class Cancellation {
  readonly #services: Services;
  readonly #sweeper: Sweeper;
  /** Receives cancelled tasks that no attempt held. */
  readonly #onReleased: (task: TaskRecord) => void;
  readonly #stopped = new AbortController();

  constructor(services: Services, sweeper: Sweeper, onReleased: (task: TaskRecord) => void) {
    this.#services = services;
    this.#sweeper = sweeper;
    this.#onReleased = onReleased;
  }

  /**
   * Resolves with the task once the request is durable, or the task has ended with it if nothing has to run for that; does nothing to a finished
   * one.
   */
  async request(id: string): Promise<TaskRecord | undefined> {
    const { store, clock, options } = this.#services;
    const now = clock.now();
    const cancelBy = deadlineAfter(now, options.cancelGraceMs);
    const result = await store.write<"request_cancel">({ type: "request_cancel", now, id, cancelBy });
    if (!result.ok) return undefined;
    const { state, journalled, sweepAt } = result.task;
    // Of what has journalled nothing, there is nothing to run again for its handler's sake.
    if (state === "queued" && !journalled) await this.#finish(id);
    else this.#sweeper.consider(sweepAt);
    return result.task;
  }

  /** Resolves once the task has ended as cancelled, or with the refusal if it had ended before. */
  async now(id: string, unless?: "unless wanted"): Promise<CommandResult<"cancel">> {
    const { store, clock } = this.#services;
    const cancel = { type: "cancel", now: clock.now(), id } as const;
    const result = await store.write<"cancel">(
      unless === undefined ? cancel : { ...cancel, unlessWanted: true },
    );
    if (result.ok && result.released) this.#onReleased(result.task);
    return result;
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #finish(id: string): Promise<void> {
    const { store, clock } = this.#services;
    const cancel = () => store.write({ type: "cancel", now: clock.now(), id });
    const { signal } = this.#stopped;
    await untilStoreAnswers(cancel, this.#services, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error; // what was requested is stored, and the sweeper of another process ends the task
    });
  }
}
