import type { HandlerName } from "./owner.ts";
import type { QueueLane } from "./record.ts";

/** Whose turn it is when tasks are claimed: plain data that a claimer keeps between claims. */
export interface Turns {
  /** One round for each priority. */
  readonly rounds: readonly Round[];
  /** For handlers with a limit on running tasks. */
  readonly limited: readonly LimitedTurn[];
}

/** How far the current round has come: principals take turns in the order of their names. */
export interface Round {
  readonly priority: number;
  /** Who had the last turn; empty for callers that are not told apart. */
  readonly principal: string;
  /** The lane from which principals get a task in this round, if they have one there. */
  readonly lane: QueueLane;
}

/** The principal that had the last turn at such a handler. A turn comes only when there is room, so this is a separate round. */
export interface LimitedTurn extends HandlerName {
  readonly principal: string;
}

export const noTurns: Turns = { rounds: [], limited: [] };

/** In the order of the rounds. */
const lanes = ["woken", "new", "recovered"] as const satisfies readonly QueueLane[];

/** If a principal has nothing in the round's lane, the next lane counts. */
export function lanesFrom(lane: QueueLane): readonly QueueLane[] {
  const place = lanes.indexOf(lane);
  return [...lanes.slice(place), ...lanes.slice(0, place)];
}

/** The round after a principal's turn. Once all principals had theirs, another round begins, with the next lane. */
export function afterTurn(round: Round | undefined, priority: number, principal: string): Round {
  if (round === undefined) return { priority, principal, lane: lanes[0] };
  const begins = compareNames(principal, round.principal) <= 0;
  const [lane, next = lane] = lanesFrom(round.lane);
  return { priority, principal, lane: (begins ? next : lane) ?? lanes[0] };
}

/** Counts a turn that a principal had outside of claims. */
export function withTurn(turns: Turns, priority: number, principal: string | null): Turns {
  const before = turns.rounds.find((round) => round.priority === priority);
  const round = afterTurn(before, priority, principal ?? "");
  return { ...turns, rounds: [...turns.rounds.filter((each) => each !== before), round] };
}

/** By code points, as databases order text. */
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
