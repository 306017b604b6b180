import type { TaskMethod, TaskRecord } from "./record.ts";

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
