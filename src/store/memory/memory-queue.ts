import { hasHandler, type HandlerName } from "../../task/owner.ts";
import type { TaskRecord } from "../../task/record.ts";
import type { RunnableQuery } from "../facts.ts";
import { SortedSet } from "./sorted-set.ts";

interface Queued {
  readonly runAfter: number;
  readonly id: string;
}

interface Line {
  readonly owner: string | null;
  readonly handler: HandlerName;
  /** False for tasks that wait. */
  readonly ready: boolean;
  readonly tasks: SortedSet<Queued>;
}

/** The queued tasks, in a line for each owner and handler, those that wait apart from the others. */
export class MemoryQueue {
  readonly #lines = new Map<string, Line>();

  add(task: TaskRecord): void {
    const queued = queuedOf(task);
    if (queued === undefined) return;
    const name = lineOf(task);
    const { owner, method, tool, lane } = task;
    const line = this.#lines.get(name) ?? {
      owner,
      handler: { method, tool },
      ready: lane !== null,
      tasks: new SortedSet(compareQueued),
    };
    this.#lines.set(name, line);
    line.tasks.add(queued);
  }

  delete(task: TaskRecord): void {
    const queued = queuedOf(task);
    if (queued === undefined) return;
    const line = this.#lines.get(lineOf(task));
    line?.tasks.delete(queued);
    if (line?.tasks.first() === undefined) this.#lines.delete(lineOf(task));
  }

  /** The ids of those that an owner may take, earliest first. */
  runnable(
    { handlers, limit }: RunnableQuery,
    mayTake: (owner: string | null) => boolean,
  ): readonly string[] {
    return this.#first(
      limit,
      ({ owner, handler, ready }) => ready && mayTake(owner) && hasHandler(handlers, handler),
    );
  }

  /** What would have to run them. */
  handlers(): readonly HandlerName[] {
    return [...this.#lines.values()].map(({ handler }) => handler);
  }

  ids(handler: HandlerName, limit: number): readonly string[] {
    return this.#first(limit, (line) => hasHandler([handler], line.handler));
  }

  #first(limit: number, isMeant: (line: Line) => boolean): readonly string[] {
    const found: Queued[] = [];
    for (const line of this.#lines.values()) {
      if (!isMeant(line)) continue;
      let left = limit;
      for (const queued of line.tasks.from(first)) {
        if (left-- <= 0) break;
        found.push(queued);
      }
    }
    return found
      .sort(compareQueued)
      .slice(0, limit)
      .map(({ id }) => id);
  }
}

const first: Queued = { runAfter: -Infinity, id: "" };

function queuedOf({ state, runAfter, id }: TaskRecord): Queued | undefined {
  return state === "queued" && runAfter !== null ? { runAfter, id } : undefined;
}

function lineOf({ owner, method, tool, lane }: TaskRecord): string {
  return JSON.stringify([owner, method, tool, lane !== null]);
}

function compareQueued(a: Queued, b: Queued): number {
  if (a.runAfter !== b.runAfter) return a.runAfter - b.runAfter;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
