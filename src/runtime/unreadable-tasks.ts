import { eventError, type ServerEvents } from "./events/server-events.ts";

/** Reports each task whose record cannot be read only once. */
export class UnreadableTasks {
  readonly #reported = new Set<string>();
  readonly #onError: (error: unknown) => void;

  readonly #events: ServerEvents | undefined;

  constructor(onError: (error: unknown) => void, events?: ServerEvents) {
    this.#onError = onError;
    this.#events = events;
  }

  report(id: string, error: unknown): void {
    if (this.#reported.has(id)) return;
    this.#reported.add(id);
    this.#onError(error);
    this.#events?.emit({ type: "task.unreadable", taskId: id, error: eventError(error) });
  }
}
