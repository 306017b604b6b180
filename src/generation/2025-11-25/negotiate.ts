import { isJsonObject, type JsonObject } from "../json-object.ts";

/** Requests that a client can declare to take as tasks (C-006). */
export type ClientTaskMethod = "sampling/createMessage" | "elicitation/create";

/** Whether a tool runs as a task: what its author sets, and what `tools/list` shows. */
export type TaskSupport = "required" | "optional" | "forbidden";

/** The value of a server's `capabilities.tasks` (C-005): present members are supported, missing ones are not. */
export interface ServerTasksCapability {
  readonly list?: Record<string, never>;
  readonly cancel: Record<string, never>;
  readonly requests: { readonly tools: { readonly call: Record<string, never> } };
}

/** A list shows one caller's tasks, so it is declared only if callers can be told apart. */
export function serverTasksCapability({ list }: { readonly list: boolean }): ServerTasksCapability {
  return { ...(list ? { list: {} } : {}), cancel: {}, requests: { tools: { call: {} } } };
}

/** The `execution` of a tool in `tools/list` (C-013). */
export function executionOf(taskSupport: TaskSupport): { readonly taskSupport: TaskSupport } {
  return { taskSupport };
}

/** Whether a client declares tasks for any request. */
export function declaresTasks(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks"]);
}

/** Whether a client accepts such a request as a task. Requests that it does not declare, it does not accept (C-009). */
export function takesTasks(capabilities: JsonObject, method: ClientTaskMethod): boolean {
  return has(capabilities, ["tasks", "requests", ...method.split("/")]);
}

/** Whether tasks that run on a client can be cancelled (C-011). */
export function clientCancels(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks", "cancel"]);
}

/** Whether a server accepts `tools/call` as a task. Each tool then decides for itself (C-014, C-015). */
export function serverTakesTasks(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks", "requests", "tools", "call"]);
}

/** Whether a server has `tasks/list` (C-010). */
export function serverLists(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks", "list"]);
}

/** Whether a server has `tasks/cancel` (C-011). */
export function serverCancels(capabilities: JsonObject): boolean {
  return has(capabilities, ["tasks", "cancel"]);
}

/** Each capability is an object: `true` declares nothing. */
function has(capabilities: JsonObject, path: readonly string[]): boolean {
  let at: unknown = capabilities;
  for (const name of path) at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return isJsonObject(at);
}
