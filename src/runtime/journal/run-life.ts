import { HoldfastError } from "../../task/fault.ts";
import { nextRunState, type RunEvent, type RunState } from "./run-state.ts";

/** The state of a run, and the signals that tell of it. */
export class RunLife {
  readonly #abort = new AbortController();
  readonly #over = new AbortController();
  readonly #gone = Promise.withResolvers<void>();
  /** What is called off when the handler's frame is dropped. */
  #timers: Set<() => void> | undefined;
  #state: RunState = "direct";
  #cancelRequested = false;

  get state(): RunState {
    return this.#state;
  }

  /** Aborts when the handler is to end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborts when nothing of the run can be stored any more; a request to cancel leaves it. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Resolves when a stop need not wait for the run any more. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** True once the requestor asked to cancel: a handler that throws from then on ends as cancelled. */
  get cancelRequested(): boolean {
    return this.#cancelRequested;
  }

  /** The one place that changes the state; false where the event changes nothing. */
  change(event: RunEvent): boolean {
    const next = nextRunState(this.#state, event);
    if (next !== undefined) this.#state = next;
    return next !== undefined;
  }

  /** Tells the handler that the requestor wants it to end; its calls on the context reject from now on. */
  requestCancel(): void {
    this.#cancelRequested = true;
    this.#abort.abort(new DOMException("The task was cancelled.", "AbortError"));
  }

  /** The handler is to end, since its attempt does; unless it was told to before. */
  endAttempt(reason: unknown): void {
    if (this.#state !== "ended") this.#abort.abort(reason);
  }

  /** Nothing of the run can be stored any more; its handler is told, unless it has ended. */
  fence(reason: unknown): void {
    const ended = this.#state === "ended";
    if (!this.change("fence")) return;
    this.#over.abort(reason);
    if (!ended) this.#abort.abort(reason);
  }

  /** Keeps the way to call off a timer that would hold the frame of the handler; returns the way to do so, or to forget it. */
  holdTimer(callOff: () => void): () => void {
    this.#timers ??= new Set();
    this.#timers.add(callOff);
    return () => {
      this.#timers?.delete(callOff);
      callOff();
    };
  }

  /** Nothing is left that would wake the handler, so that its frame goes where nobody else holds it. */
  drop(): void {
    for (const callOff of this.#timers ?? []) callOff();
    this.#timers = undefined;
    this.setGone();
  }

  /** Tells the handler, whose task was released, that the server stops. */
  stop(): void {
    const stopping = new HoldfastError("stopping", "The server stops.");
    this.#over.abort(stopping);
    this.#abort.abort(stopping);
  }

  setGone(): void {
    this.#gone.resolve();
  }
}

/**
 * Where the code of a handler stops whose task was released. A promise of its own for each call: one for all would hold
 * every frame that was dropped on it.
 */
export function forEver(): Promise<never> {
  return new Promise(() => undefined);
}
