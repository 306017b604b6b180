/**
 * When queued tasks run, and in which order: lanes, parking, fair turns, limits and pauses after crashes.
 * - A queued task is in a lane (it can be claimed) or waits (for an answer, an event or a time), never both.
 * - Priorities come first, then principals take turns, so that nobody's backlog delays another's task.
 */

import type { WaitReason } from "./journal.ts";
import type { QueueLane, TaskRecord, TaskMethod } from "./record.ts";
import { latestTime, storable } from "./time.ts";

/** The state of a handler that rests: none of its steps runs, and everything in it waits. */
export interface Rest {
  /** The first of `waitReasons` that it waits for; left out if that is not known. */
  readonly reason?: WaitReason;
  /** When the first wait ends by itself (epoch ms), `latestTime` if none does; null for a task that must not be parked. */
  readonly runAfter: number | null;
  /** The number of its questions, calls and waits for events that the attempt knows to be open. */
  readonly open: number;
}

/** The part of a record that says what the task waits for. */
export type Waiting = Pick<TaskRecord, "waiting" | "waitsFor" | "lane" | "runAfter">;

/** True for a queued task that waits for something: it does not run before that. */
function isParked({ state, lane, waiting }: TaskRecord): boolean {
  return state === "queued" && lane === null && waiting;
}

/** A running task whose handler rests, unless something has arrived that its attempt had not seen. */
export function resting(
  task: Pick<TaskRecord, "openInputs" | "childInputs" | "openWaits" | "cancelRequestedAt">,
  rest: Rest | undefined,
): Waiting {
  if (rest === undefined || rest.open !== ownOpen(task)) return working;
  const parks = rest.runAfter !== null && task.cancelRequestedAt === null;
  const waitsFor = rest.reason ?? null;
  return { waiting: true, waitsFor, lane: null, runAfter: parks ? storable(rest.runAfter) : null };
}

/** How many of its own questions, calls and waits for events have not ended. */
export function ownOpen({
  openInputs,
  childInputs,
  openWaits,
}: Pick<TaskRecord, "openInputs" | "childInputs" | "openWaits">): number {
  return openInputs - childInputs + openWaits;
}

/** A running task whose handler works. */
export const working: Waiting = { waiting: false, waitsFor: null, lane: null, runAfter: null };

/** A queued task that can be claimed since `now`. */
export function ready(lane: QueueLane, now: number): Waiting {
  return { ...working, lane, runAfter: now };
}

/** A queued task that pauses until a time. */
export function pausing(until: number): Waiting {
  return { ...working, waitsFor: "retry", runAfter: storable(until) };
}

/** A task with an ended wait: its handler must continue, even if it has other waits. */
export function resumed(task: TaskRecord, now: number): Waiting {
  if (task.state === "running") return working;
  return isParked(task) ? ready("woken", now) : task;
}

/** The same for a cancel request, which a pausing handler must also notice. */
export function resumedToCancel(task: TaskRecord, now: number): Waiting {
  const pauses = task.state === "queued" && task.lane === null && !task.waiting;
  return pauses ? ready("recovered", now) : resumed(task, now);
}

/**
 * A task whose attempt ends without an outcome: parked if its handler rests, otherwise `otherwise`. Where its process stops or is gone
 * (`isLeft`), one that waits for a limit runs again: a permit may be free, and nobody else asks for it.
 */
export function parkedOr(task: TaskRecord, otherwise: Waiting, isLeft = true): Waiting {
  const { waiting, waitsFor, runAfter } = task;
  const asks = isLeft && waitsFor === "limit";
  return runAfter === null || asks ? otherwise : { waiting, waitsFor, lane: null, runAfter };
}

/** Whether the time has come at which a parked or pausing task continues by itself. */
export function isToWake({ state, lane, runAfter }: TaskRecord, now: number): boolean {
  return state === "queued" && lane === null && runAfter !== null && runAfter < latestTime && runAfter <= now;
}

/** Identifies a handler, which runs all tasks of a method and a tool. */
export interface HandlerName {
  readonly method: TaskMethod;
  readonly tool: string;
}

/** A handler for which tasks are claimed. */
export interface ClaimingHandler extends HandlerName {
  /** Tasks of a handler with a higher number come first. Default 0. */
  readonly priority?: number;
  /** How many of its tasks may run at the same time, across all owners; left out: any number. */
  readonly concurrency?: number;
  /** The version of its tool, which tasks keep once they start; left out: none. */
  readonly version?: number;
}

/** A process that has a store open. */
export interface StoreOwner {
  /** Unique among all owners that ever open the store: 1 to 64 letters, digits, `-` and `_`. */
  readonly id: string;
  /** Its handlers, whether or not it runs them itself: their tasks are not orphaned while it lives. */
  readonly handlers: readonly HandlerName[];
}

/** Whether one of the handlers runs the task. */
export function hasHandler(
  handlers: readonly HandlerName[],
  { method, tool }: Pick<TaskRecord, "method" | "tool">,
): boolean {
  return handlers.some((handler) => handler.method === method && handler.tool === tool);
}

/** Each handler once. */
export function uniqueHandlers(handlers: readonly HandlerName[]): readonly HandlerName[] {
  return handlers.filter(
    (handler, index) => handlers.findIndex((other) => hasHandler([other], handler)) === index,
  );
}

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
  readonly lane: RoundLane;
}

/** The principal that had the last turn at such a handler. A turn comes only when there is room, so this is a separate round. */
export interface LimitedTurn extends HandlerName {
  readonly principal: string;
}

export const noTurns: Turns = { rounds: [], limited: [] };

/** In the order of the rounds. */
const lanes = ["woken", "new", "recovered"] as const satisfies readonly QueueLane[];

type RoundLane = (typeof lanes)[number];

/** If a principal has nothing in the round's lane, the next lane counts. */
export function lanesFrom(lane: RoundLane): readonly RoundLane[] {
  const place = lanes.indexOf(lane);
  return [...lanes.slice(place), ...lanes.slice(0, place)];
}

/** The same with suspects, which go before others that are recovered: one at a time runs. */
export function allLanesFrom(lane: RoundLane): readonly QueueLane[] {
  return lanesFrom(lane).flatMap((each) => (each === "recovered" ? (["suspect", each] as const) : each));
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

/** How many tasks there are or may be; null: any number. */
export interface Allowance {
  /** Tasks that have not ended. */
  readonly unfinished: number | null;
  /** These, and ended tasks that are still kept. */
  readonly retained: number | null;
}

/** The limits for a new task. */
export interface Quota {
  /** For each principal. Callers that are not told apart have no principal, so only the total limits them. */
  readonly perPrincipal: Allowance;
  readonly total: Allowance;
}

/** The number of existing tasks. */
export interface Usage {
  readonly unfinished: number;
  readonly retained: number;
}

/** Whether one more unfinished task fits. */
export function hasRoom(usage: Usage, { unfinished, retained }: Allowance): boolean {
  return (
    (unfinished === null || usage.unfinished < unfinished) && (retained === null || usage.retained < retained)
  );
}

/** How long a task waits after repeated crashes. Times are in milliseconds. */
export interface CrashBackoff {
  /** After the second crash; doubles with each further one. */
  readonly baseMs: number;
  readonly maxMs: number;
  /** After this many crashes in a row the task is given up, without a wait. */
  readonly maxCrashes: number;
}

/** The first crash causes no pause, so that work continues as soon as a process is available. */
export function crashPause(crashes: number, { baseMs, maxMs }: Omit<CrashBackoff, "maxCrashes">): number {
  return crashes < 2 ? 0 : Math.min(baseMs * 2 ** (crashes - 2), maxMs);
}
