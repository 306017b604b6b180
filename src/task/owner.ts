import type { TaskMethod, TaskRecord } from "./record.ts";

/** What runs tasks: all those of a method and a tool. */
export interface HandlerName {
  readonly method: TaskMethod;
  readonly tool: string;
}

/** A handler for which tasks are claimed. */
export interface ClaimingHandler extends HandlerName {
  /** Tasks of a handler with a higher one come first. Default 0. */
  readonly priority?: number;
  /** How many of its tasks run at a time, whichever owners run them; left out: any number. */
  readonly concurrency?: number;
  /** The version of its tool, which tasks keep that begin with it; left out: none. */
  readonly version?: number;
}

/** A process that has a store open. */
export interface StoreOwner {
  /** Unique among all that ever open the store: 1 to 64 letters, digits, `-` and `_`. */
  readonly id: string;
  /** What it knows, whether it runs that itself or not: tasks of these are no orphans while it lives. */
  readonly handlers: readonly HandlerName[];
}

/** Whether one of the handlers runs the task. */
export function hasHandler(
  handlers: readonly HandlerName[],
  { method, tool }: Pick<TaskRecord, "method" | "tool">,
): boolean {
  return handlers.some((handler) => handler.method === method && handler.tool === tool);
}

/** Each of them once. */
export function uniqueHandlers(handlers: readonly HandlerName[]): readonly HandlerName[] {
  return handlers.filter(
    (handler, index) => handlers.findIndex((other) => hasHandler([other], handler)) === index,
  );
}
