import type { HandlerName } from "./owner.ts";
import type { QueueLane } from "./record.ts";

/** Whose turn it is when tasks are claimed: plain data that a claimer keeps from one claim to the next. */
export interface Turns {
  /** Of handlers of a priority, each of them once. */
  readonly rounds: readonly Round[];
  /** Of handlers with a limit on how many run at a time. */
  readonly limited: readonly LimitedTurn[];
}

/** How far the principals have had their turns: one after the other, in the order of their names. */
export interface Round {
  readonly priority: number;
  /** Who had the last turn; empty for callers who are not told apart. */
  readonly principal: string;
  /** From which lane principals get a task in this round, where they have one there. */
  readonly lane: QueueLane;
}

/** Who had the last turn at such a handler: a turn comes only when there is room for it, so that this is a round of its own. */
export interface LimitedTurn extends HandlerName {
  readonly principal: string;
}

export const noTurns: Turns = { rounds: [], limited: [] };

/** In the order in which rounds begin with them. */
const lanes = ["woken", "new", "recovered"] as const satisfies readonly QueueLane[];

/** Where a principal has nothing in the lane of the round, the next one counts. */
export function lanesFrom(lane: QueueLane): readonly QueueLane[] {
  const place = lanes.indexOf(lane);
  return [...lanes.slice(place), ...lanes.slice(0, place)];
}

/** The round after a turn of a principal; once all had theirs, another one begins, with the next lane. */
export function afterTurn(round: Round | undefined, priority: number, principal: string): Round {
  if (round === undefined) return { priority, principal, lane: lanes[0] };
  const begins = compareNames(principal, round.principal) <= 0;
  const [lane, next = lane] = lanesFrom(round.lane);
  return { priority, principal, lane: (begins ? next : lane) ?? lanes[0] };
}

/** With a turn that a principal had besides those of claims. */
export function withTurn(turns: Turns, priority: number, principal: string | null): Turns {
  const before = turns.rounds.find((round) => round.priority === priority);
  const round = afterTurn(before, priority, principal ?? "");
  return { ...turns, rounds: [...turns.rounds.filter((each) => each !== before), round] };
}

/** By their code points, as databases order text. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const difference = rank(a.charCodeAt(index)) - rank(b.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
