import {
  noTurns,
  type LimitedTurn,
  type Round,
  type Turns,
  type ClaimingHandler,
} from "../../src/task/queue.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { runs } from "./model-owners.ts";

// Who comes next when tasks are claimed, said once more: one task after the other, each time by a look at all of them.

const lanes = ["woken", "new", "recovered"] as const;

export interface Claim {
  readonly handlers: readonly ClaimingHandler[];
  readonly turns?: Turns;
  readonly limit: number;
}

export interface Claimed {
  readonly tasks: readonly TaskRecord[];
  readonly turns: Turns;
  readonly heldBack: boolean;
  readonly suspectsWait: boolean;
}

/** What is claimed of the tasks that can be, while others of `all` run. */
export function inTurn(ready: readonly TaskRecord[], all: readonly TaskRecord[], claim: Claim): Claimed {
  const { handlers, limit } = claim;
  const waited = handlers.filter((handler) => ready.some((task) => runs([handler], task)));
  const counting = all.filter((task) => task.state === "running" && task.limited);
  const tasks: TaskRecord[] = [];
  let { rounds, limited } = claim.turns ?? noTurns;
  const roomOf = (handler: ClaimingHandler): number =>
    (handler.concurrency ?? Infinity) -
    [...counting, ...tasks].filter((task) => runs([handler], task)).length;
  const isTried = [...all].some((task) => task.state === "running" && task.crashes > 1 && !task.waiting);
  const mayTake = (task: TaskRecord): boolean =>
    task.lane !== "suspect" || !(isTried || tasks.some(({ lane }) => lane === "suspect"));
  while (tasks.length < limit) {
    const left = ready.filter((task) => !tasks.includes(task) && mayTake(task));
    // At a handler with a limit only one principal has the turn.
    const turnOf = (handler: ClaimingHandler): string | undefined => {
      const names = left.filter((task) => runs([handler], task)).map(nameOf);
      return after(names, limited.find((turn) => runs([handler], turn))?.principal);
    };
    const isOpen = (handler: ClaimingHandler, task: TaskRecord): boolean =>
      runs([handler], task) &&
      roomOf(handler) > 0 &&
      (handler.concurrency === undefined || turnOf(handler) === nameOf(task));
    const open = left.flatMap((task) => {
      const handler = handlers.find((each) => isOpen(each, task));
      return handler === undefined ? [] : [{ task, handler, priority: handler.priority ?? 0 }];
    });
    const priority = Math.max(...open.map((each) => each.priority));
    const first = open.filter((each) => each.priority === priority);
    const before = rounds.find((round) => round.priority === priority);
    const principal = after(
      first.map(({ task }) => nameOf(task)),
      before?.principal,
    );
    if (principal === undefined) break;
    const round = roundOf(before, priority, principal);
    const own = first.filter(({ task }) => nameOf(task) === principal);
    const [next] = own.sort(
      (a, b) => inLane(a.task, round) - inLane(b.task, round) || byTime(a.task, b.task),
    );
    if (next === undefined) break;
    const passed = own
      .filter(({ handler }) => handler.concurrency !== undefined)
      .map(({ handler }) => handler);
    rounds =
      before === undefined ? [...rounds, round] : rounds.map((each) => (each === before ? round : each));
    limited = [
      ...limited.filter((turn) => !runs(passed, turn)),
      ...passed.filter(isFirst).map(({ method, tool }): LimitedTurn => ({ method, tool, principal })),
    ];
    tasks.push(next.task);
  }
  const waits = ready.some((task) => !tasks.includes(task) && task.lane === "suspect");
  const suspectsWait = waits && tasks.length < limit;
  const heldBack = suspectsWait || waited.some((handler) => roomOf(handler) <= 0);
  return { tasks, turns: { rounds, limited: inOrder(limited, waited) }, heldBack, suspectsWait };
}

/** A handler may have tasks of several lines. */
function isFirst(handler: ClaimingHandler, index: number, all: readonly ClaimingHandler[]): boolean {
  return all.findIndex((other) => runs([other], handler)) === index;
}

/** Last come those of handlers with tasks, as these were named. */
function inOrder(
  limited: readonly LimitedTurn[],
  handlers: readonly ClaimingHandler[],
): readonly LimitedTurn[] {
  const counted = handlers.filter(({ concurrency }) => concurrency !== undefined);
  const last = counted.flatMap((handler) => limited.filter((turn) => runs([handler], turn)));
  return [...limited.filter((turn) => !runs(counted, turn)), ...last];
}

function nameOf({ principal }: TaskRecord): string {
  return principal ?? "";
}

/** The name that comes after another one, or the first of all; the names here are ASCII. */
function after(names: readonly string[], last: string | undefined): string | undefined {
  const sorted = names.toSorted();
  return sorted.find((name) => last === undefined || name > last) ?? sorted[0];
}

function roundOf(before: Round | undefined, priority: number, principal: string): Round {
  if (before === undefined) return { priority, principal, lane: "woken" };
  const isNext = principal <= before.principal;
  const lane = lanes[(lanes.indexOf(before.lane) + Number(isNext)) % lanes.length] ?? "woken";
  return { priority, principal, lane };
}

/** How far the lane of a task is from that of the round. */
function inLane({ lane }: TaskRecord, round: Round): number {
  const place = lanes.findIndex((each) => each === (lane === "suspect" ? "recovered" : lane));
  const rounds = (place - lanes.indexOf(round.lane) + lanes.length) % lanes.length;
  return lane === "recovered" ? rounds + 0.5 : rounds;
}

function byTime(a: TaskRecord, b: TaskRecord): number {
  return Number(a.runAfter) - Number(b.runAfter) || (a.id < b.id ? -1 : 1);
}
