import type { Runtime } from "../runtime/runtime.ts";

/** The runtimes of the objects that `createTasks` returned, for what looks into them from outside a server. */
const runtimes = new WeakMap<object, Runtime>();

export function keepRuntime(tasks: object, runtime: Runtime): void {
  runtimes.set(tasks, runtime);
}

export function runtimeOf(tasks: object): Runtime | undefined {
  return runtimes.get(tasks);
}
