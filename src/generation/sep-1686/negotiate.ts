import { isJsonObject, type JsonObject } from "../json-object.ts";

/** Client requests that can become tasks (S-002). */
export const requestMethods = ["tools/call", "resources/read", "prompts/get"] as const;

export type RequestMethod = (typeof requestMethods)[number];

/** Server requests that can become tasks (S-002). */
export type ClientTaskMethod = "sampling/createMessage" | "elicitation/create";

/**
 * The value of `capabilities.tasks`: for each request type of each category, whether it can become a task (S-003). The categories are
 * direct members, as in the first text. A later text put them under `requests`; there, clients that know 2025-11-25 reject a boolean and
 * end the handshake.
 */
export type TasksCapability = Readonly<Record<string, Readonly<Record<string, boolean>>>>;

/** What a server declares if it accepts these requests as tasks. */
export function serverTasksCapability(methods: readonly RequestMethod[]): TasksCapability {
  return capabilityOf(methods);
}

/** What a client declares if it accepts these requests as tasks. */
export function clientTasksCapability(methods: readonly ClientTaskMethod[]): TasksCapability {
  return capabilityOf(methods);
}

/**
 * Whether the other side declares that it accepts such a request as a task. One that declares nothing may still accept it (S-004, A-01):
 * only trying tells.
 */
export function declaresTask(capabilities: JsonObject, method: RequestMethod | ClientTaskMethod): boolean {
  const tasks = capabilities["tasks"];
  const path = method.split("/");
  return isTrue(tasks, path) || isTrue(tasks, ["requests", ...path]);
}

function capabilityOf(methods: readonly string[]): TasksCapability {
  const tasks: Record<string, Record<string, boolean>> = {};
  for (const method of methods) {
    const [category = "", type = ""] = method.split("/");
    tasks[category] = { ...tasks[category], [type]: true };
  }
  return tasks;
}

/** Only `true` counts: objects are declarations of a later revision. */
function isTrue(declared: unknown, path: readonly string[]): boolean {
  let at = declared;
  for (const name of path) at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  return at === true;
}
