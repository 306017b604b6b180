import { uniqueHandlers, type HandlerName, noTurns } from "../../task/queue.ts";
import type { TaskRecord } from "../../task/record.ts";
import { takeFairly, type FairlyTaken, type FairQuery } from "../fair-order.ts";
import type { ReadyTask } from "../ready-line.ts";
import { take } from "../take.ts";
import { compareReady, earliest, MemoryLine } from "./memory-line.ts";
import { SortedSet } from "./sorted-set.ts";

interface WaitingLine {
  readonly handler: HandlerName;
  readonly tasks: SortedSet<ReadyTask>;
}

/**
 * The queued tasks: claimable ones by owner and handler, waiting ones by handler. Also the number of running tasks that count toward a
 * limit.
 */
export class MemoryQueue {
  readonly #ready = new Map<string, MemoryLine>();
  readonly #waiting = new Map<string, WaitingLine>();
  readonly #limited = new Map<string, number>();

  add(task: TaskRecord): void {
    const { owner, method, tool, lane } = task;
    if (task.limited) this.#countLimited(task, 1);
    if (task.state !== "queued") return;
    if (lane === null) {
      const line = this.#waiting.get(nameOf(task)) ?? {
        handler: { method, tool },
        tasks: new SortedSet(compareReady),
      };
      this.#waiting.set(nameOf(task), line);
      line.tasks.add(queuedOf(task));
      return;
    }
    const line = this.#ready.get(lineOf(task)) ?? new MemoryLine(owner, { method, tool });
    this.#ready.set(lineOf(task), line);
    line.add(queuedOf(task), task.principal ?? "", lane);
  }

  delete(task: TaskRecord): void {
    if (task.limited) this.#countLimited(task, -1);
    if (task.state !== "queued") return;
    if (task.lane === null) {
      const line = this.#waiting.get(nameOf(task));
      line?.tasks.delete(queuedOf(task));
      if (line?.tasks.first() === undefined) this.#waiting.delete(nameOf(task));
      return;
    }
    const line = this.#ready.get(lineOf(task));
    line?.delete(queuedOf(task), task.principal ?? "", task.lane);
    if (line?.isEmpty === true) this.#ready.delete(lineOf(task));
  }

  /** Tasks that an owner may take. */
  runnable(query: FairQuery, mayTake: (line: MemoryLine) => boolean): FairlyTaken<ReadyTask> {
    const lines = [...this.#ready.values()].filter(mayTake);
    return takeFairly(lines, query, (handler) => this.#limited.get(nameOf(handler)) ?? 0);
  }

  /** The handlers of queued tasks. */
  handlers(): readonly HandlerName[] {
    const lines = [...this.#ready.values(), ...this.#waiting.values()];
    return uniqueHandlers(lines.map(({ handler }) => handler));
  }

  ids(handler: HandlerName, limit: number): readonly string[] {
    const query = { handlers: [handler], turns: noTurns, limit };
    const found = [...this.runnable(query, () => true).tasks];
    const waiting = this.#waiting.get(nameOf(handler))?.tasks.from(earliest) ?? [];
    found.push(...take(waiting, limit - found.length));
    return found.map(({ id }) => id);
  }

  #countLimited(handler: HandlerName, more: number): void {
    const count = (this.#limited.get(nameOf(handler)) ?? 0) + more;
    if (count > 0) this.#limited.set(nameOf(handler), count);
    else this.#limited.delete(nameOf(handler));
  }
}

function queuedOf({ runAfter, id }: TaskRecord): ReadyTask {
  return { runAfter, id };
}

function lineOf({ owner, method, tool }: TaskRecord): string {
  return JSON.stringify([owner, method, tool]);
}

function nameOf({ method, tool }: HandlerName): string {
  return JSON.stringify([method, tool]);
}
