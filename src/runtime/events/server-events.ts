import type { Clock } from "../clock.ts";
import { eventError } from "./event-error.ts";
import type { EventError, ServerEvent, ServerEventData } from "./server-event.ts";

/** A listener of this process's events. */
export type OnEvent = (event: ServerEvent) => unknown;

export interface ServerEventsSetup {
  readonly listeners: readonly OnEvent[];
  readonly clock: Pick<Clock, "now">;
  readonly onError: (error: unknown) => void;
}

/** Sends events to listeners. Does not exist without listeners, so that events then cost nothing. */
export class ServerEvents {
  readonly #setup: ServerEventsSetup;
  /** What handlers threw, by the token of their attempts, while their ends are being stored. */
  readonly #thrown = new Map<string, unknown>();

  constructor(setup: ServerEventsSetup) {
    this.#setup = setup;
  }

  /** If a listener throws or rejects, the error goes to `onError`. */
  emit(event: ServerEventData): void {
    const { listeners, clock, onError } = this.#setup;
    const timed = { ...event, at: clock.now() };
    for (const listener of listeners) {
      try {
        const returned = listener(timed);
        if (returned instanceof Promise) returned.catch(onError);
      } catch (error) {
        onError(error);
      }
    }
  }

  /** The handler of the attempt with this token threw. The stored form has no stack. Kept until `forget`. */
  threw(token: string | null, error: unknown): void {
    if (token !== null) this.#thrown.set(token, error);
  }

  thrownUnder(token: string): EventError | undefined {
    return this.#thrown.has(token) ? eventError(this.#thrown.get(token)) : undefined;
  }

  forget(token: string | null): void {
    if (token !== null) this.#thrown.delete(token);
  }
}
