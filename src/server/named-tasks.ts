import { listenMethod, taskListening } from "../generation/2026-07-28-listen.ts";
import { isJsonObject } from "../generation/message.ts";
import { relatedTaskOf, generation as sep } from "../generation/sep-1686.ts";
import type { TaskResource } from "../generation/extensions.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { generation as plain, scopeOf } from "./plain/plain-call.ts";
import { readReference } from "./plain/references.ts";
import { isStopping } from "./faults.ts";
import { calledTool } from "./request.ts";
import { namedResourceOf } from "./task-resources.ts";

/** A task as a message names it: by its id, or by a name that is unique among its principal's tasks of a generation. */
interface Named {
  readonly id: string;
  readonly wireId: string | undefined;
  /** Those in which the name may be. */
  readonly generations: readonly (typeof sep | typeof plain)[];
}

type IsPollingTool = (tool: string) => boolean;

/**
 * The scopes that are needed for the principal's own tasks that a body names, which is a message or a batch; none for
 * unknown tasks, or another's.
 */
export async function scopesOfTasks(
  runtime: Runtime,
  body: unknown,
  principal: string | null,
  isPollingTool: IsPollingTool,
): Promise<ReadonlySet<string>> {
  const scopes = new Set<string>();
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  for (const message of messages) {
    const named = namedBy(message, isPollingTool);
    if (named === undefined) continue;
    for (const scope of (await scopesOf(runtime, named, principal)) ?? []) scopes.add(scope);
  }
  return scopes;
}

/** Whether all tasks that a message names or listens to are the principal's own. */
export async function findsAll(
  runtime: Runtime,
  message: unknown,
  principal: string | null,
  isPollingTool: IsPollingTool,
): Promise<boolean> {
  const named = namedBy(message, isPollingTool);
  if (named !== undefined) return (await scopesOf(runtime, named, principal)) !== undefined;
  for (const listened of listenedTo(message)) {
    if ((await scopesOf(runtime, listened, principal)) === undefined) return false;
  }
  return true;
}

function listenedTo(message: unknown): readonly Named[] {
  if (!isJsonObject(message) || message["method"] !== listenMethod) return [];
  const { taskIds, resources = [] } = taskListening(message["params"]) ?? {};
  const ids = Array.isArray(taskIds) ? taskIds.filter((id) => typeof id === "string") : [];
  return [
    ...ids.map((id) => ({ id, wireId: undefined, generations: [] })),
    ...resources.map((resource) => byResource(resource)),
  ];
}

function namedBy(message: unknown, isPollingTool: IsPollingTool): Named | undefined {
  if (!isJsonObject(message) || !isJsonObject(message["params"])) return undefined;
  const { method, params } = message;
  if (typeof method !== "string") return undefined;
  if (method.startsWith("tasks/")) return bySep(params["taskId"]);
  const resource = namedResourceOf(method, params);
  if (resource !== undefined) return byResource(resource);
  if (method === "notifications/cancelled") return bySep(relatedTaskOf(params));
  if (method !== "tools/call" || !isPollingTool(calledTool(params))) return undefined;
  const typed = isJsonObject(params["arguments"]) ? params["arguments"]["reference"] : undefined;
  return typeof typed === "string"
    ? { id: typed.trim(), wireId: readReference(typed), generations: [plain] }
    : undefined;
}

function byResource({ task }: Pick<TaskResource, "task">): Named {
  return { id: task, wireId: task, generations: [sep, plain] };
}

function bySep(taskId: unknown): Named | undefined {
  return typeof taskId === "string" ? { id: taskId, wireId: taskId, generations: [sep] } : undefined;
}

/**
 * Undefined if the principal has no such task, which takes the same time whether another has it or not. None while the
 * server stops, with which the request will fail itself.
 */
async function scopesOf(
  runtime: Runtime,
  { id, wireId, generations }: Named,
  principal: string | null,
): Promise<readonly string[] | undefined> {
  try {
    const known = await runtime.scopesOf(id, principal);
    const scope = scopeOf({ principal, session: undefined });
    if (known !== undefined || wireId === undefined || scope === undefined) return known;
    for (const generation of generations) {
      const found = await runtime.find({ generation, scope, wireId });
      if (found !== undefined) return await runtime.scopesOf(found, principal);
    }
    return undefined;
  } catch (error) {
    if (isStopping(error)) return [];
    throw error;
  }
}
