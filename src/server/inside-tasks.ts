import type { ServerEvents } from "../runtime/events/server-events.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { OnError } from "./faults.ts";

/** What an object that `createTasks` returned consists of. */
export interface InsideTasks {
  readonly runtime: Runtime;
  readonly onError: OnError;
  readonly events: ServerEvents | undefined;
}

/** For what looks into them from outside a server. */
const insides = new WeakMap<object, InsideTasks>();

export function keepInside(tasks: object, inside: InsideTasks): void {
  insides.set(tasks, inside);
}

/** Undefined for an object that is something else. */
export function insideOf(tasks: object): InsideTasks | undefined {
  return insides.get(tasks);
}
