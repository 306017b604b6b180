import { isJsonObject, type JsonObject } from "../json-object.ts";

/** Requests of a client that can become tasks (S-002). */
export const requestMethods = ["tools/call", "resources/read", "prompts/get"] as const;

export type RequestMethod = (typeof requestMethods)[number];

/** Requests of a server that can become tasks (S-002). */
export type ClientTaskMethod = "sampling/createMessage" | "elicitation/create";

/** The value of `capabilities.tasks`: for each request type of each category whether it can become a task (S-003). */
export interface TasksCapability {
  readonly requests: Readonly<Record<string, Readonly<Record<string, boolean>>>>;
}

export function serverTasksCapability(): TasksCapability {
  return capabilityOf(requestMethods);
}

/** What a client declares that takes these requests as tasks. */
export function clientTasksCapability(methods: readonly ClientTaskMethod[]): TasksCapability {
  return capabilityOf(methods);
}

/**
 * Whether the other side declares that it takes such a request as a task. One that declares nothing may take it all the
 * same (S-004, A-01): only its use tells.
 */
export function declaresTask(capabilities: JsonObject, method: RequestMethod | ClientTaskMethod): boolean {
  const tasks = capabilities["tasks"];
  const path = method.split("/");
  // The first text had the categories beside each other, with nothing around them.
  return isTrue(tasks, ["requests", ...path]) || isTrue(tasks, path);
}

function capabilityOf(methods: readonly string[]): TasksCapability {
  const requests: Record<string, Record<string, boolean>> = {};
  for (const method of methods) {
    const [category = "", type = ""] = method.split("/");
    requests[category] = { ...requests[category], [type]: true };
  }
  return { requests };
}

/** Objects there are what a later revision declares. */
function isTrue(declared: unknown, path: readonly string[]): boolean {
  let at = declared;
  for (const name of path) at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return at === true;
}
