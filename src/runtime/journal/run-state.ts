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
    meaning: "the run holds a task: that which it was started for, or one that was made of its call",
  },
  drain: {
    from: ["running"],
    to: "draining",
    meaning:
      "the server stops: the task is released where the handler comes to its next journalled call, or waits",
  },
  end: {
    from: ["direct", "running", "draining"],
    to: "ended",
    meaning: "the handler has returned or thrown, and its outcome is to be stored, or answered",
  },
  release: {
    from: ["running", "draining", "ended"],
    to: "released",
    meaning: "the task goes back to the queue, and what the handler still does counts for nothing",
  },
  park: {
    from: ["running"],
    to: "released",
    meaning:
      "the handler waits, and its frame is dropped: the task is given back until something has come for it",
  },
  fence: {
    from: ["direct", "running", "draining", "ended"],
    to: "fenced",
    meaning:
      "others have ended or taken the task, or the caller has left before there was one: nothing can be stored any more",
  },
} as const satisfies Record<string, Transition>;

export type RunEvent = keyof typeof runTransitions;

/** The state after `event`, or undefined if the event changes nothing. */
export function nextRunState(state: RunState, event: RunEvent): RunState | undefined {
  const { from, to }: Transition = runTransitions[event];
  return from.includes(state) ? to : undefined;
}
