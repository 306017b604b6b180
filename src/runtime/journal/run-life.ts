import { HoldfastError } from "../../task/fault.ts";
import type { OwnContext } from "../own-context.ts";

/** The state of a run, and its signals. */
export class RunLife {
  readonly #inOwnContext: OwnContext;
  readonly #abort = new AbortController();
  readonly #over = new AbortController();
  readonly #gone = Promise.withResolvers<void>();
  /** Timers to cancel when the handler is dropped from memory. */
  #timers: Set<() => void> | undefined;
  #state: RunState = "direct";
  #cancelRequested = false;

  constructor(inOwnContext: OwnContext) {
    this.#inOwnContext = inOwnContext;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Whether the handler has returned or thrown, so that it learns of nothing any more. */
  get hasReturned(): boolean {
    return this.#state === "ended" || (this.#state === "fenced" && !this.signal.aborted);
  }

  /** Aborts when the handler should end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborts when nothing of the run can be stored any more; a cancel request does not abort it. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Resolves when a stop need no longer wait for the run. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** True once the requestor asked to cancel: a handler that throws from then on ends as cancelled. */
  get cancelRequested(): boolean {
    return this.#cancelRequested;
  }

  /** The only place that changes the state; false if the event changes nothing. */
  change(event: RunEvent): boolean {
    const next = nextRunState(this.#state, event);
    if (next !== undefined) this.#state = next;
    return next !== undefined;
  }

  /** Tells the handler that the requestor wants it to end; its context calls reject from now on. */
  requestCancel(): void {
    this.#cancelRequested = true;
    this.#tellToEnd(new DOMException("The task was cancelled.", "AbortError"));
  }

  /** The handler should end with its attempt, unless it has already been asked to. */
  endAttempt(reason: unknown): void {
    if (this.#state !== "ended") this.#tellToEnd(reason);
  }

  /** Nothing of the run can be stored any more. Tells its handler, unless it has ended. */
  fence(reason: unknown): void {
    const ended = this.#state === "ended";
    if (!this.change("fence")) return;
    this.#over.abort(reason);
    if (!ended) this.#tellToEnd(reason);
  }

  /** Keeps a function that cancels a timer, which would hold the handler in memory; returns a function that cancels or forgets the timer. */
  holdTimer(cancelTimer: () => void): () => void {
    this.#timers ??= new Set();
    this.#timers.add(cancelTimer);
    return () => {
      this.#timers?.delete(cancelTimer);
      cancelTimer();
    };
  }

  /** Nothing is left that would wake the handler, so that it can be freed from memory. */
  drop(): void {
    for (const cancelTimer of this.#timers ?? []) cancelTimer();
    this.#timers = undefined;
    this.setGone();
  }

  /** Tells a handler whose task was released that the server stops. */
  stop(): void {
    const stopping = new HoldfastError("stopping", "The server is stopping.");
    this.#over.abort(stopping);
    this.#tellToEnd(stopping);
  }

  setGone(): void {
    this.#gone.resolve();
  }

  /** The author's listeners run before this returns. */
  #tellToEnd(reason: unknown): void {
    this.#inOwnContext(() => this.#abort.abort(reason));
  }
}

/**
 * Where the code of a handler stops when its task was released. Each call makes a new promise: a shared one would keep every dropped
 * handler in memory.
 */
export function forEver(): Promise<never> {
  return new Promise(() => undefined);
}

/** The state of one run of a handler regarding its task. The last two are final. */
export type RunState = "direct" | "running" | "draining" | "ended" | "released" | "fenced";

interface Transition {
  /** States in which the event applies; in other states it changes nothing. */
  readonly from: readonly RunState[];
  readonly to: RunState;
  readonly meaning: string;
}

/** The state machine of a run, as data; `RunLife` applies it in one place. A request to cancel changes no state. */
export const runTransitions = {
  hold: {
    from: ["direct"],
    to: "running",
    meaning: "the run holds a task: the one it was started for, or one created from its call",
  },
  drain: {
    from: ["running"],
    to: "draining",
    meaning:
      "the server stops: the task is released when the handler reaches its next journalled call, or waits",
  },
  end: {
    from: ["direct", "running", "draining"],
    to: "ended",
    meaning: "the handler has returned or thrown, and its outcome is to be stored, or answered",
  },
  release: {
    from: ["running", "draining", "ended"],
    to: "released",
    meaning: "the task goes back to the queue, and whatever the handler still does is discarded",
  },
  park: {
    from: ["running"],
    to: "released",
    meaning:
      "the handler waits, and its frame is dropped: the task is given back until something arrives for it",
  },
  fence: {
    from: ["direct", "running", "draining", "ended"],
    to: "fenced",
    meaning:
      "others have ended or taken the task, or the caller left before there was one: nothing more can be stored",
  },
} as const satisfies Record<string, Transition>;

export type RunEvent = keyof typeof runTransitions;

/** The state after `event`, or undefined if the event changes nothing. */
export function nextRunState(state: RunState, event: RunEvent): RunState | undefined {
  const { from, to }: Transition = runTransitions[event];
  return from.includes(state) ? to : undefined;
}
