import { type ClaimingHandler, type HandlerName, compareNames, type LimitedTurn } from "../task/queue.ts";
import type { QueueLane } from "../task/record.ts";
import { sooner, type Next, type ReadyLine, type ReadyTask } from "./ready-line.ts";

/** The lines of a handler, for all owners. */
export class HandlerQueue<Task extends ReadyTask> {
  readonly handler: HandlerName;
  readonly priority: number;
  readonly lines: readonly ReadyLine<Task>[];
  readonly #isLimited: boolean;
  /** How many more of its tasks may run. */
  room: number;
  /** For a handler with a limit: the principal that had the last turn. */
  last: string | null;

  constructor(
    { method, tool, priority = 0, concurrency }: ClaimingHandler,
    lines: readonly ReadyLine<Task>[],
    running: number,
    last: string | null,
  ) {
    this.handler = { method, tool };
    this.priority = priority;
    this.lines = lines;
    this.#isLimited = concurrency !== undefined;
    this.room = (concurrency ?? Infinity) - running;
    this.last = last;
  }

  /** The principal with the next turn, after the one that had the last turn at any handler. */
  next(after: string | null): Next | undefined {
    if (this.room <= 0) return undefined;
    if (!this.#isLimited) return this.#nextAfter(after);
    const principal = this.#nextAtLimit();
    if (principal === undefined) return undefined;
    return { principal, begins: after !== null && compareNames(principal, after) <= 0 };
  }

  isOpenTo(principal: string): boolean {
    return this.room > 0 && (!this.#isLimited || this.#nextAtLimit() === principal);
  }

  /** Also called for tasks of other handlers: a principal that chose another handler has had its turn here, too. */
  hadTurn(principal: string): void {
    this.last = principal;
  }

  take(line: ReadyLine<Task>, principal: string, lane: QueueLane): void {
    line.take(principal, lane);
    this.room--;
  }

  /** The principal that may take from a handler with a limit. Only one at a time, or the first in the round would get all of its room. */
  #nextAtLimit(): string | undefined {
    for (;;) {
      const principal = this.#nextAfter(this.last)?.principal;
      if (principal === undefined) return undefined;
      const left = this.lines.filter((line) => line.hasLeft(principal));
      if (left.length > 0) return principal;
    }
  }

  #nextAfter(after: string | null): Next | undefined {
    return this.lines.map((line) => line.next(after)).reduce<Next | undefined>(sooner, undefined);
  }

  get limitedTurn(): LimitedTurn | undefined {
    return this.#isLimited && this.last !== null ? { ...this.handler, principal: this.last } : undefined;
  }
}
