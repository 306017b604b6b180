import {
  afterTurn,
  allLanesFrom,
  type ClaimingHandler,
  compareNames,
  type HandlerName,
  hasHandler,
  type LimitedTurn,
  type Round,
  type Turns,
} from "../task/queue.ts";
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
interface Next {
  readonly principal: string;
  readonly begins: boolean;
}

/** Which suspect may be taken: the first one, if none runs. */
class SuspectTurn {
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
class ReadyLine<Task extends ReadyTask> {
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
function sooner(a: Next | undefined, b: Next | undefined): Next | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.begins !== b.begins) return a.begins ? b : a;
  return compareNames(a.principal, b.principal) <= 0 ? a : b;
}

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

/** The first wanted items, at most `limit`; reads no further. */
export function take<T>(
  entries: Iterable<T>,
  limit: number,
  wanted: (entry: T) => boolean = () => true,
): T[] {
  const taken: T[] = [];
  if (limit <= 0) return taken;
  for (const entry of entries) {
    if (wanted(entry)) taken.push(entry);
    if (taken.length >= limit) break;
  }
  return taken;
}
