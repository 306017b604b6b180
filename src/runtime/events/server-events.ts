import { cutText } from "../../task/stored-text.ts";
import { describeThrown, thrownStack } from "../tool/tool-errors.ts";
import type { EventError, ServerEvent, ServerEventData } from "./server-event.ts";
import type { Clock } from "../clock.ts";

/** In code points. Log lines are limited too, and authors can throw anything. */
const longestMessage = 4_096;
const longestStack = 16_384;

/** A thrown value as an event contains it. Never throws. */
export function eventError(thrown: unknown): EventError {
  const message = cutText(describeThrown(thrown), longestMessage);
  try {
    if (!(thrown instanceof Error)) return { name: "Error", message };
    const stack = thrownStack(thrown);
    const where = stack === undefined ? {} : { stack: cutText(stack, longestStack) };
    return { name: String(thrown.name), message, ...codeOf(thrown), ...where };
  } catch {
    return { name: "Error", message }; // its getters are the author's
  }
}

/** The same for an error stored as JSON. */
export function storedEventError(json: string): EventError {
  const { name, message, code } = JSON.parse(json) as EventError;
  return { name, message: cutText(message, longestMessage), ...codeOf({ code }) };
}

function codeOf(error: object): { readonly code?: string | number } {
  const code = "code" in error ? error.code : undefined;
  return typeof code === "string" || typeof code === "number" ? { code } : {};
}

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

  /** The event becomes this object's own. If a listener throws or rejects, the error goes to `onError`. */
  emit(event: ServerEventData): void {
    const { listeners, clock, onError } = this.#setup;
    const timed = Object.assign(event, { at: clock.now() });
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
