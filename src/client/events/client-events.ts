import type { ClientClock } from "../clock.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { TaskClientError, type TaskClientErrorCode } from "../task-client-error.ts";
import type { ClientEvent, ClientEventData } from "./client-event.ts";

/** Gives events to whoever the host named for them; what that throws disturbs nothing. */
export class ClientEvents {
  readonly #onEvent: ((event: ClientEvent) => unknown) | undefined;
  readonly #clock: Pick<ClientClock, "now">;
  #calls = 0;

  constructor(onEvent: ((event: ClientEvent) => unknown) | undefined, clock: Pick<ClientClock, "now">) {
    this.#onEvent = onEvent;
    this.#clock = clock;
  }

  /** A name for one call, unique in this client. */
  nextCallId(): string {
    return `call-${++this.#calls}`;
  }

  tell(event: ClientEventData): void {
    if (this.#onEvent === undefined) return;
    try {
      const told = this.#onEvent({ at: this.#clock.now(), ...event });
      if (told instanceof Promise) told.catch(() => undefined);
    } catch {
      // A log that is full must not end anybody's wait.
    }
  }
}

/** Of an event about a failure: the number of the error that the server gave, if it gave one. */
export function rpcCodeOf(error: JsonRpcError | undefined): { readonly rpcCode?: number } {
  return error === undefined ? {} : { rpcCode: error.code };
}

/** The same of what was thrown, with what it is known by; anything else than our own error came of a signal. */
export function failureOf(error: unknown): {
  readonly code: TaskClientErrorCode | "aborted";
  readonly rpcCode?: number;
} {
  if (!(error instanceof TaskClientError)) return { code: "aborted" };
  return { code: error.code, ...rpcCodeOf(error.error) };
}
