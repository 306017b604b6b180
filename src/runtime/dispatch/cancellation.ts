import { untilStoreAnswers } from "../until-store-answers.ts";
import type { CommandResult } from "../../task/command.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { Services } from "../services.ts";

/**
 * Cancels tasks. Cooperatively: the request is durable, the handler is told through the change feed, and a task
 * whose handler has not ended after the grace ends as cancelled all the same. Or at once: the task has ended before its
 * handler is told.
 */
export class Cancellation {
  readonly #services: Services;
  readonly #graces = new Map<string, () => void>();
  readonly #stopped = new AbortController();

  constructor(services: Services) {
    this.#services = services;
  }

  /** Resolves with the task once the request is durable; does nothing to a finished one. */
  async request(id: string): Promise<TaskRecord | undefined> {
    const { store, clock, options } = this.#services;
    const result = await store.write({ type: "request_cancel", now: clock.now(), id });
    if (!result.ok) return undefined;
    if (result.task.state === "queued") await this.#finish(id);
    else this.#armGrace(result.task, options.cancelGraceMs);
    return result.task;
  }

  /** Resolves once the task has ended as cancelled, or with the refusal of one that had ended before. */
  now(id: string): Promise<CommandResult<"cancel">> {
    const { store, clock } = this.#services;
    this.#graces.get(id)?.();
    this.#graces.delete(id);
    return store.write({ type: "cancel", now: clock.now(), id });
  }

  stop(): void {
    this.#stopped.abort();
    for (const callOff of this.#graces.values()) callOff();
    this.#graces.clear();
  }

  #armGrace({ id }: TaskRecord, ms: number): void {
    if (this.#graces.has(id)) return;
    const end = (): void => {
      this.#graces.delete(id);
      this.#finish(id).catch((error: unknown) => {
        if (!this.#stopped.signal.aborted) this.#services.onError(error);
      });
    };
    this.#graces.set(id, this.#services.clock.after(ms, end));
  }

  async #finish(id: string): Promise<void> {
    const { store, clock } = this.#services;
    const cancel = () => store.write({ type: "cancel", now: clock.now(), id });
    await untilStoreAnswers(cancel, this.#services, this.#stopped.signal);
  }
}
