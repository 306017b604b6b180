import { type HandlerName, compareNames } from "../../task/queue.ts";
import type { QueueLane } from "../../task/record.ts";
import type { ReadyTask, ReadyTasks } from "../ready-line.ts";
import { SortedSet } from "./sorted-set.ts";

type Lanes = Map<QueueLane, SortedSet<ReadyTask>>;

/** The claimable tasks of an owner and a handler. */
export class MemoryLine implements ReadyTasks<ReadyTask> {
  readonly owner: string | null;
  readonly handler: HandlerName;
  readonly #principals = new SortedSet<string>(compareNames);
  readonly #lanes = new Map<string, Lanes>();

  constructor(owner: string | null, handler: HandlerName) {
    this.owner = owner;
    this.handler = handler;
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  add(task: ReadyTask, principal: string, lane: QueueLane): void {
    const lanes: Lanes = this.#lanes.get(principal) ?? new Map();
    const tasks = lanes.get(lane) ?? new SortedSet(compareReady);
    this.#principals.add(principal);
    this.#lanes.set(principal, lanes.set(lane, tasks));
    tasks.add(task);
  }

  delete(task: ReadyTask, principal: string, lane: QueueLane): void {
    const lanes = this.#lanes.get(principal);
    const tasks = lanes?.get(lane);
    tasks?.delete(task);
    if (tasks?.first() === undefined) lanes?.delete(lane);
    if (lanes?.size !== 0) return;
    this.#lanes.delete(principal);
    this.#principals.delete(principal);
  }

  principalAfter(after: string | null): string | undefined {
    for (const principal of this.#principals.from(after ?? "")) if (principal !== after) return principal;
    return undefined;
  }

  of(principal: string, lane: QueueLane): Iterator<ReadyTask, unknown> {
    return this.#lanes.get(principal)?.get(lane)?.from(earliest) ?? [].values();
  }
}

/** Before any task. */
export const earliest: ReadyTask = { runAfter: -Infinity, id: "" };

/** Earliest first. */
export function compareReady(a: ReadyTask, b: ReadyTask): number {
  const difference = (a.runAfter ?? 0) - (b.runAfter ?? 0);
  if (difference !== 0) return difference;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
