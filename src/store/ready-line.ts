import { type HandlerName, compareNames, allLanesFrom } from "../task/queue.ts";
import type { QueueLane } from "../task/record.ts";

/** The known data of a task before it is taken. */
export interface ReadyTask {
  readonly id: string;
  /** Since when it can be claimed. */
  readonly runAfter: number | null;
}

/** The claimable tasks of one handler and one owner, as a store reads them. Nothing is written meanwhile. */
export interface ReadyTasks<Task extends ReadyTask> {
  readonly handler: HandlerName;
  /** The first principal with tasks after `after`, in the order of `compareNames`; null: the first of all. */
  principalAfter(after: string | null): string | undefined;
  /** The tasks of a principal in a lane, by `runAfter` and id; read on demand. */
  of(principal: string, lane: QueueLane): Iterator<Task, unknown>;
  /** Called when no more of the principal's tasks can be taken: all others found are damaged. */
  nothingLeft?(principal: string): void;
}

/** The next principal, and whether another round begins with it. */
export interface Next {
  readonly principal: string;
  readonly begins: boolean;
}

/** Which suspect may be taken: the first one, if none runs. */
export class SuspectTurn {
  readonly #isRunning: () => boolean;
  #isFree: boolean | undefined;
  /** True once one could not be taken. */
  heldBack = false;

  constructor(isRunning: () => boolean) {
    this.#isRunning = isRunning;
  }

  /** Asked when there is one to take. */
  get isFree(): boolean {
    this.#isFree ??= !this.#isRunning();
    if (!this.#isFree) this.heldBack = true;
    return this.#isFree;
  }

  take(): void {
    this.#isFree = false;
  }
}

/** One line of tasks that are taken in turns. It finds no taken task again, and reads nothing twice. */
export class ReadyLine<Task extends ReadyTask> {
  readonly #tasks: ReadyTasks<Task>;
  readonly #after = new Map<string | null, string | undefined>();
  readonly #heads = new Map<string, { readonly rest: Iterator<Task, unknown>; head: Task | undefined }>();
  /** Principals with no tasks left. */
  readonly #empty = new Set<string>();
  readonly #suspects: SuspectTurn;

  constructor(tasks: ReadyTasks<Task>, suspects: SuspectTurn) {
    this.#tasks = tasks;
    this.#suspects = suspects;
  }

  /** The next principal in turn that may have tasks left. */
  next(after: string | null): Next | undefined {
    const later = this.#nextBelow(after, undefined);
    if (later !== undefined) return { principal: later, begins: false };
    if (after === null) return undefined;
    const begins = this.#nextBelow(null, after);
    return begins === undefined ? undefined : { principal: begins, begins: true };
  }

  hasLeft(principal: string): boolean {
    if (this.#empty.has(principal)) return false;
    const hasLeft = allLanesFrom("new").some((lane) => this.head(principal, lane) !== undefined);
    if (hasLeft) return true;
    this.#empty.add(principal);
    this.#tasks.nothingLeft?.(principal);
    return false;
  }

  head(principal: string, lane: QueueLane): Task | undefined {
    const { head } = this.#queue(principal, lane);
    return head === undefined || lane !== "suspect" || this.#suspects.isFree ? head : undefined;
  }

  take(principal: string, lane: QueueLane): void {
    const queue = this.#queue(principal, lane);
    if (lane === "suspect") this.#suspects.take();
    queue.head = first(queue.rest);
  }

  /** The first principal after `after`, up to `last`. */
  #nextBelow(after: string | null, last: string | undefined): string | undefined {
    for (let name = this.#principalAfter(after); name !== undefined; name = this.#principalAfter(name)) {
      if (last !== undefined && compareNames(name, last) > 0) return undefined;
      if (!this.#empty.has(name)) return name;
    }
    return undefined;
  }

  #principalAfter(after: string | null): string | undefined {
    if (!this.#after.has(after)) this.#after.set(after, this.#tasks.principalAfter(after));
    return this.#after.get(after);
  }

  #queue(principal: string, lane: QueueLane) {
    const name = `${lane} ${principal}`;
    const known = this.#heads.get(name);
    if (known !== undefined) return known;
    const rest = this.#tasks.of(principal, lane);
    const queue = { rest, head: first(rest) };
    this.#heads.set(name, queue);
    return queue;
  }
}

function first<Task>(tasks: Iterator<Task, unknown>): Task | undefined {
  const { done, value } = tasks.next();
  return done === true ? undefined : value;
}

/** The earlier of the two. */
export function sooner(a: Next | undefined, b: Next | undefined): Next | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.begins !== b.begins) return a.begins ? b : a;
  return compareNames(a.principal, b.principal) <= 0 ? a : b;
}
