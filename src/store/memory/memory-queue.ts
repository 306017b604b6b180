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
  readonly tasks: SortedSet<Queued>;
}

/** The queued tasks, in a line for each owner and handler. */
export class MemoryQueue {
  readonly #lines = new Map<string, Line>();

  add(task: TaskRecord): void {
    const queued = queuedOf(task);
    if (queued === undefined) return;
    const name = lineOf(task);
    const { owner, method, tool } = task;
    const line = this.#lines.get(name) ?? {
      owner,
      handler: { method, tool },
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

  /** The ids of those that an owner may take, earliest first, and when the next one may run. */
  runnable(
    { handlers, now, limit }: RunnableQuery,
    mayTake: (owner: string | null) => boolean,
  ): { readonly ids: readonly string[]; readonly next: number | null } {
    const found: Queued[] = [];
    let next: number | null = null;
    for (const { owner, handler, tasks } of this.#lines.values()) {
      if (!mayTake(owner) || !hasHandler(handlers, handler)) continue;
      let left = limit;
      for (const queued of tasks.from(first)) {
        if (queued.runAfter > now) next = Math.min(next ?? Infinity, queued.runAfter);
        if (queued.runAfter > now || left-- <= 0) break;
        found.push(queued);
      }
    }
    const ids = found.sort(compareQueued).slice(0, limit);
    return { ids: ids.map(({ id }) => id), next };
  }

  /** What would have to run them. */
  handlers(): readonly HandlerName[] {
    return [...this.#lines.values()].map(({ handler }) => handler);
  }

  ids({ method, tool }: HandlerName, limit: number): readonly string[] {
    const found: Queued[] = [];
    for (const { handler, tasks } of this.#lines.values()) {
      if (handler.method !== method || handler.tool !== tool) continue;
      let left = limit;
      for (const queued of tasks.from(first)) {
        if (left-- <= 0) break;
        found.push(queued);
      }
    }
    const ids = found.sort(compareQueued).slice(0, limit);
    return ids.map(({ id }) => id);
  }
}

const first: Queued = { runAfter: -Infinity, id: "" };

function queuedOf({ state, runAfter, id }: TaskRecord): Queued | undefined {
  return state === "queued" && runAfter !== null ? { runAfter, id } : undefined;
}

function lineOf({ owner, method, tool }: TaskRecord): string {
  return JSON.stringify([owner, method, tool]);
}

function compareQueued(a: Queued, b: Queued): number {
  if (a.runAfter !== b.runAfter) return a.runAfter - b.runAfter;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
