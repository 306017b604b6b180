import type { Clock } from "../clock.ts";
import { eventError } from "./event-error.ts";
import type { EventError, ServerEvent, ServerEventData } from "./server-event.ts";

/** Whoever wants to know what happens in this process. */
export type OnEvent = (event: ServerEvent) => unknown;

export interface ServerEventsSetup {
  readonly listeners: readonly OnEvent[];
  readonly clock: Pick<Clock, "now">;
  readonly onError: (error: unknown) => void;
}

/** Tells listeners what happens. There is none where nobody listens, and then nothing is made of what happens. */
export class ServerEvents {
  readonly #setup: ServerEventsSetup;
  /** What handlers threw whose ends are being stored, by the tokens of their attempts. */
  readonly #thrown = new Map<string, unknown>();

  constructor(setup: ServerEventsSetup) {
    this.#setup = setup;
  }

  /** A listener that throws, or rejects, hurts nobody: `onError` hears of it. */
  emit(event: ServerEventData): void {
    const { listeners, clock, onError } = this.#setup;
    const told = { ...event, at: clock.now() };
    for (const listener of listeners) {
      try {
        const returned = listener(told);
        if (returned instanceof Promise) returned.catch(onError);
      } catch (error) {
        onError(error);
      }
    }
  }

  /** The handler of the attempt with this token threw; what is stored of that has no stack. Until `forget`. */
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
