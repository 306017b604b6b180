import type { ReadyTasks } from "../../src/store/fair-order.ts";
import { hasHandler, type HandlerName, compareNames } from "../../src/task/queue.ts";
import type { QueueLane } from "../../src/task/record.ts";

/** A task that can be claimed. */
export interface Ready {
  readonly id: string;
  readonly runAfter: number;
  readonly handler: HandlerName;
  readonly principal: string;
  readonly lane: QueueLane;
}

export function handler(tool: string): HandlerName {
  return { method: "tools/call", tool };
}

/** The lines of some tasks, as a store would show them. */
export function linesOf(tasks: readonly Ready[]): readonly ReadyTasks<Ready>[] {
  const tools = new Set(tasks.map((task) => task.handler.tool));
  return [...tools].map((tool) => lineOf(tool, tasks));
}

function lineOf(tool: string, all: readonly Ready[]): ReadyTasks<Ready> {
  const tasks = all.filter((task) => hasHandler([handler(tool)], task.handler));
  const names = [...new Set(tasks.map(({ principal }) => principal))].sort(compareNames);
  return {
    handler: handler(tool),
    principalAfter: (after) => names.find((name) => after === null || compareNames(name, after) > 0),
    of: (principal, lane) =>
      tasks
        .filter((task) => task.principal === principal && task.lane === lane)
        .sort((a, b) => a.runAfter - b.runAfter || (a.id < b.id ? -1 : 1))
        .values(),
  };
}
