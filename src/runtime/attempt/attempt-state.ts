/** How far one run of a handler is, as far as its task goes. The last two are final. */
export type AttemptState = "running" | "draining" | "ended" | "released" | "fenced";

interface Transition {
  /** States in which the event means something; in every other one it changes nothing. */
  readonly from: readonly AttemptState[];
  readonly to: AttemptState;
  readonly meaning: string;
}

/** The state machine of an attempt, as data; `Attempt` applies it in one place. A request to cancel changes no state. */
export const attemptTransitions = {
  drain: {
    from: ["running"],
    to: "draining",
    meaning:
      "the server stops: the task is released where the handler comes to its next journalled call, or waits",
  },
  end: {
    from: ["running", "draining"],
    to: "ended",
    meaning: "the handler has returned or thrown, and its outcome is to be stored",
  },
  release: {
    from: ["running", "draining", "ended"],
    to: "released",
    meaning: "the task goes back to the queue, and what the handler still does counts for nothing",
  },
  fence: {
    from: ["running", "draining", "ended"],
    to: "fenced",
    meaning: "others have ended or taken the task, and the store refuses what the attempt writes",
  },
} as const satisfies Record<string, Transition>;

export type AttemptEvent = keyof typeof attemptTransitions;

/** The state after `event`, or undefined where the event changes nothing. */
export function nextAttemptState(state: AttemptState, event: AttemptEvent): AttemptState | undefined {
  const { from, to }: Transition = attemptTransitions[event];
  return from.includes(state) ? to : undefined;
}
