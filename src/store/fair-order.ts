import {
  hasHandler,
  type ClaimingHandler,
  type HandlerName,
  afterTurn,
  allLanesFrom,
  type Round,
  type Turns,
  compareNames,
  type LimitedTurn,
} from "../task/queue.ts";
import type { QueueLane } from "../task/record.ts";
import { ReadyLine, sooner, SuspectTurn, type Next, type ReadyTask, type ReadyTasks } from "./ready-line.ts";

/** Which tasks to take. */
export interface FairQuery {
  readonly handlers: readonly ClaimingHandler[];
  readonly turns: Turns;
  readonly limit: number;
}

export interface FairlyTaken<Task> {
  /** In the order of their turns. */
  readonly tasks: readonly Task[];
  /** The turns after these tasks. */
  readonly turns: Turns;
  /** True if tasks may have been left out because their handler's limit was reached, or because another suspect runs. */
  readonly heldBack: boolean;
  /** True if suspects were left out because another one runs. */
  readonly suspectsWait: boolean;
}

/**
 * Takes tasks so that no principal waits behind all tasks of another. Handlers of a higher priority come first. Within a priority,
 * principals take turns, one task each: from the round's lane if they have one there, and there the task that has been ready longest. A
 * handler with a limit also takes its principals in turn, for as many tasks as it has room for. Of suspects, at most one is taken, and
 * none while `suspectRuns`, which is only asked if there is one to take.
 */
export function takeFairly<Task extends ReadyTask>(
  lines: Iterable<ReadyTasks<Task>>,
  { handlers, turns, limit }: FairQuery,
  running: (handler: HandlerName) => number,
  suspectRuns: () => boolean = () => false,
): FairlyTaken<Task> {
  const suspects = new SuspectTurn(suspectRuns);
  const queues = queuesOf(lines, handlers, turns, running, suspects);
  const tasks: Task[] = [];
  const rounds = new Map(turns.rounds.map((round) => [round.priority, round]));
  const priorities = new Set(queues.map(({ priority }) => priority));
  for (const priority of [...priorities].sort((a, b) => b - a)) {
    const served = queues.filter((queue) => queue.priority === priority);
    for (let round = rounds.get(priority); tasks.length < limit;) {
      const turn = takeTurn(served, priority, round);
      if (turn === undefined) break;
      tasks.push(turn.task);
      round = turn.round;
      rounds.set(priority, round);
    }
  }
  const suspectsWait = tasks.length < limit && suspects.heldBack;
  return {
    tasks,
    turns: { rounds: [...rounds.values()], limited: limitedTurns(turns, queues) },
    suspectsWait,
    heldBack: suspectsWait || queues.some(({ room }) => room <= 0),
  };
}

function queuesOf<Task extends ReadyTask>(
  lines: Iterable<ReadyTasks<Task>>,
  handlers: readonly ClaimingHandler[],
  turns: Turns,
  running: (handler: HandlerName) => number,
  suspects: SuspectTurn,
): readonly HandlerQueue<Task>[] {
  const found = [...lines];
  return handlers.flatMap((handler) => {
    const own = found.filter((line) => hasHandler([handler], line.handler));
    if (own.length === 0) return [];
    const used = handler.concurrency === undefined ? 0 : running(handler);
    const last = turns.limited.find((turn) => hasHandler([handler], turn))?.principal ?? null;
    return new HandlerQueue(
      handler,
      own.map((line) => new ReadyLine(line, suspects)),
      used,
      last,
    );
  });
}

function limitedTurns<Task extends ReadyTask>(
  { limited }: Turns,
  queues: readonly HandlerQueue<Task>[],
): Turns["limited"] {
  const now = queues.flatMap((queue) => queue.limitedTurn ?? []);
  return [...limited.filter((turn) => !hasHandler(now, turn)), ...now];
}

interface Turn<Task> {
  readonly task: Task;
  readonly round: Round;
}

/** Takes from the next principal with tasks; undefined if none are left. */
function takeTurn<Task extends ReadyTask>(
  queues: readonly HandlerQueue<Task>[],
  priority: number,
  before: Round | undefined,
): Turn<Task> | undefined {
  const after = before?.principal ?? null;
  for (;;) {
    const next = queues.map((queue) => queue.next(after)).reduce<Next | undefined>(sooner, undefined);
    if (next === undefined) return undefined;
    const { principal } = next;
    const open = queues.filter((queue) => queue.isOpenTo(principal));
    const round = afterTurn(before, priority, principal);
    const found = firstOf(open, principal, round.lane);
    if (found === undefined) continue; // nothing is left of that principal, which is not found again
    for (const queue of open) queue.hadTurn(principal);
    found.queue.take(found.line, principal, found.lane);
    return { task: found.task, round };
  }
}

interface Found<Task extends ReadyTask> {
  readonly task: Task;
  readonly lane: QueueLane;
  readonly queue: HandlerQueue<Task>;
  readonly line: ReadyLine<Task>;
}

function firstOf<Task extends ReadyTask>(
  queues: readonly HandlerQueue<Task>[],
  principal: string,
  from: Round["lane"],
): Found<Task> | undefined {
  for (const lane of allLanesFrom(from)) {
    let found: Found<Task> | undefined;
    for (const queue of queues) {
      for (const line of queue.lines) {
        const task = line.head(principal, lane);
        if (task !== undefined && (found === undefined || isBefore(task, found.task))) {
          found = { task, lane, queue, line };
        }
      }
    }
    if (found !== undefined) return found;
  }
  for (const { lines } of queues) for (const line of lines) line.hasLeft(principal);
  return undefined;
}

function isBefore(a: ReadyTask, b: ReadyTask): boolean {
  const [since, until] = [a.runAfter ?? 0, b.runAfter ?? 0];
  return since === until ? a.id < b.id : since < until;
}

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
