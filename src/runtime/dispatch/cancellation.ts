import type { CommandResult } from "../../task/command.ts";
import type { TaskRecord } from "../../task/record.ts";
import { deadlineAfter } from "../duration.ts";
import type { Services } from "../services.ts";
import { untilStoreAnswers } from "../until-store-answers.ts";
import type { Sweeper } from "./sweeper.ts";

/**
 * Cancels tasks. Cooperatively: the request is durable, the handler is told through the change feed, and a task whose handler
 * has not ended after the grace is ended by a sweeper, of whichever process. Or at once: the task has ended before its
 * handler is told.
 */
export class Cancellation {
  readonly #services: Services;
  readonly #sweeper: Sweeper;
  readonly #stopped = new AbortController();

  constructor(services: Services, sweeper: Sweeper) {
    this.#services = services;
    this.#sweeper = sweeper;
  }

  /** Resolves with the task once the request is durable; does nothing to a finished one. */
  async request(id: string): Promise<TaskRecord | undefined> {
    const { store, clock, options } = this.#services;
    const now = clock.now();
    const cancelBy = deadlineAfter(now, options.cancelGraceMs);
    const result = await store.write<"request_cancel">({ type: "request_cancel", now, id, cancelBy });
    if (!result.ok) return undefined;
    if (result.task.state === "queued") await this.#finish(id);
    else this.#sweeper.consider(result.task.sweepAt);
    return result.task;
  }

  /** Resolves once the task has ended as cancelled, or with the refusal of one that had ended before. */
  now(id: string, unless?: "unless wanted"): Promise<CommandResult<"cancel">> {
    const { store, clock } = this.#services;
    const cancel = { type: "cancel", now: clock.now(), id } as const;
    return store.write(unless === undefined ? cancel : { ...cancel, unlessWanted: true });
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #finish(id: string): Promise<void> {
    const { store, clock } = this.#services;
    const cancel = () => store.write({ type: "cancel", now: clock.now(), id });
    await untilStoreAnswers(cancel, this.#services, this.#stopped.signal);
  }
}
