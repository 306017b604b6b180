/**
 * Decides what the handler of a run may see and do next. Pure: in go the ends of its entries, with the version of their commit, and what
 * happens to the run. Whoever runs it asks here, and nowhere else, before an end reaches the handler, before an entry or a try of a step
 * begins, before what the handler reports or returns is stored, and before its task is parked, released or tried again. What always holds:
 *
 * 1. Ends reach the handler in the order of their commits, so that what it has seen is a prefix of what any later run of it is shown.
 * 2. Once one end was held back, none reaches it any more, and nothing that it still does has an effect: another branch of it could have
 *    gone another way than every replay. Steps that run are journalled, and then the task is released.
 * 3. After the handler has returned, its other branches begin, try again and report nothing.
 */

/** The state of one run of a handler regarding its task. The last two are final. */
export type RunState = "direct" | "running" | "draining" | "doomed" | "ended" | "released" | "fenced";

interface Transition {
  /** States in which the event applies; in other states it changes nothing. */
  readonly from: readonly RunState[];
  readonly to: RunState;
  readonly meaning: string;
}

/** The state machine of a run, as data; the scheduler applies it in one place. A request to cancel changes no state. */
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
  withhold: {
    from: ["draining"],
    to: "doomed",
    meaning:
      "an end, or the begin of an entry, was held back: what the handler still does counts for nothing",
  },
  block: {
    from: ["running", "draining"],
    to: "doomed",
    meaning:
      "this code cannot continue the task: nothing of the attempt counts, and the task is blocked when its steps have ended",
  },
  end: {
    from: ["direct", "running", "draining"],
    to: "ended",
    meaning: "the handler has returned or thrown, and its outcome is to be stored, or answered",
  },
  release: {
    from: ["running", "draining", "doomed", "ended"],
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
    from: ["direct", "running", "draining", "doomed", "ended"],
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

/**
 * What comes of a call of the handler, or of an end for it: it goes on; it stops there for good, without an error, and the next run comes to
 * it again; or it rejects.
 */
export type Verdict = "goes on" | "stops" | "rejects";

/** What is asked about, and the verdict in each of the states, in their order. */
const verdicts = {
  /** An end reaches the handler. */
  see: inEach("goes on", "goes on", "stops", "stops", "goes on", "stops", "goes on"),
  /** An entry begins. */
  begin: inEach("goes on", "goes on", "stops", "stops", "rejects", "stops", "rejects"),
  /** A step that has begun gets its slot and runs, or its failed try is journalled: a stop lets it, so that the next run has what came of it. */
  try: inEach("goes on", "goes on", "goes on", "goes on", "rejects", "stops", "rejects"),
  /** What the handler reports, or changes of its task, is stored. What its steps report always is, as long as their ends are. */
  report: inEach("goes on", "goes on", "goes on", "stops", "rejects", "stops", "rejects"),
  /** Something is written under the token. */
  write: inEach("goes on", "goes on", "goes on", "goes on", "goes on", "stops", "rejects"),
  /** All that is left of the handler waits, and no step runs. Where that stops, the task is released. */
  wait: inEach("goes on", "goes on", "stops", "stops", "rejects", "stops", "rejects"),
  /** The handler that waits is dropped from memory, and its task parked. */
  park: inEach("stops", "goes on", "stops", "stops", "rejects", "stops", "rejects"),
  /** The handler is told that its attempt is over. A doomed one would take that for its own failure. */
  hear: inEach("goes on", "goes on", "goes on", "stops", "rejects", "goes on", "goes on"),
  /** The handler has thrown, and its task is to run again: that is one of its tries. */
  retry: inEach("rejects", "goes on", "goes on", "stops", "rejects", "stops", "rejects"),
} as const satisfies Record<string, Record<RunState, Verdict>>;

function inEach(
  direct: Verdict,
  running: Verdict,
  draining: Verdict,
  doomed: Verdict,
  ended: Verdict,
  released: Verdict,
  fenced: Verdict,
): Record<RunState, Verdict> {
  return { direct, running, draining, doomed, ended, released, fenced };
}

export type Asked = keyof typeof verdicts;

/** The position of an end among the ends of its task. */
export interface Position {
  /** The record's version after it. */
  readonly version: number;
  /** Orders those that one command ended: the position in the journal. */
  readonly place: number;
}

/**
 * What to do next about the ends of a run. `learn`: an earlier end than those known may have been committed, and all up to the version have to
 * be found first.
 */
export type Decision<End> =
  | { readonly do: "deliver"; readonly end: End }
  | { readonly do: "learn"; readonly upTo: number }
  | { readonly do: "nothing" };

export class Scheduler<End extends Position = Position> {
  #state: RunState = "direct";
  /** Known ends that the handler has not seen; the next is last. */
  readonly #queue: End[] = [];
  /** Every end up to this version is known. */
  #complete = 0;
  /** Whether others may have ended entries of which nothing is in the queue. */
  #looks = false;

  get state(): RunState {
    return this.#state;
  }

  /** False if the event changes nothing. */
  apply(event: RunEvent): boolean {
    const next = nextRunState(this.#state, event);
    if (next !== undefined) this.#state = next;
    return next !== undefined;
  }

  verdict(asked: Asked): Verdict {
    return verdicts[asked][this.#state];
  }

  /** Every end up to this version is known now. */
  learned(version: number): void {
    this.#complete = Math.max(this.#complete, version);
  }

  /** An end was committed. */
  add(end: End): void {
    const index = this.#queue.findIndex((other) => compareEnds(end, other) >= 0);
    this.#queue.splice(index < 0 ? this.#queue.length : index, 0, end);
  }

  /** Others may have ended something. */
  look(): void {
    this.#looks = true;
  }

  /** Whether it knows of no end that the handler has not seen. */
  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  decide(): Decision<End> {
    const end = this.#queue.at(-1);
    if (this.verdict("write") === "stops") return { do: "nothing" };
    if (end !== undefined && end.version <= this.#complete) return { do: "deliver", end };
    if (end === undefined && !this.#looks) return { do: "nothing" };
    this.#looks = false;
    return { do: "learn", upTo: this.#queue[0]?.version ?? 0 };
  }

  /** The end reaches the handler, unless an earlier one has become known meanwhile: then that is next. */
  deliver(end: End): boolean {
    const isNext = this.#queue.at(-1) === end && this.verdict("write") !== "stops";
    if (isNext) this.#queue.pop();
    return isNext;
  }
}

export function compareEnds(a: Position, b: Position): number {
  return a.version - b.version || a.place - b.place;
}
