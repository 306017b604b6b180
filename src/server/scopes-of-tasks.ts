import { isJsonObject } from "../generation/json-object.ts";
import { relatedTaskOf } from "../generation/sep-1686/related-task.ts";
import { generation as sep } from "../generation/sep-1686/name.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { generation as plain } from "./plain/open-call.ts";
import { scopeOf } from "./plain/owner.ts";
import { readReference } from "./plain/reference.ts";

/** A task as a message names it: by its id, or by a name that is unique among its principal's tasks of a generation. */
interface Named {
  readonly id: string;
  readonly wireId: string | undefined;
  readonly generation: typeof sep | typeof plain;
}

/**
 * The scopes that are needed for the principal's own tasks that a body, a message or a batch, asks something of; none for
 * tasks that are not there, or another's.
 */
export async function scopesOfTasks(
  runtime: Runtime,
  body: unknown,
  principal: string | null,
  isCompanion: (tool: string) => boolean,
): Promise<ReadonlySet<string>> {
  const scopes = new Set<string>();
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  for (const message of messages) {
    const named = namedBy(message, isCompanion);
    if (named === undefined) continue;
    for (const scope of await scopesOf(runtime, named, principal)) scopes.add(scope);
  }
  return scopes;
}

function namedBy(message: unknown, isCompanion: (tool: string) => boolean): Named | undefined {
  if (!isJsonObject(message) || !isJsonObject(message["params"])) return undefined;
  const { method, params } = message;
  if (typeof method !== "string") return undefined;
  if (method.startsWith("tasks/")) return bySep(params["taskId"]);
  if (method === "notifications/cancelled") return bySep(relatedTaskOf(params));
  if (method !== "tools/call" || !isCompanion(String(params["name"]))) return undefined;
  const typed = isJsonObject(params["arguments"]) ? params["arguments"]["reference"] : undefined;
  return typeof typed === "string"
    ? { id: typed.trim(), wireId: readReference(typed), generation: plain }
    : undefined;
}

function bySep(taskId: unknown): Named | undefined {
  return typeof taskId === "string" ? { id: taskId, wireId: taskId, generation: sep } : undefined;
}

async function scopesOf(
  runtime: Runtime,
  { id, wireId, generation }: Named,
  principal: string | null,
): Promise<readonly string[]> {
  const known = await runtime.scopesOf(id, principal);
  const scope = scopeOf({ principal, session: undefined });
  if (known !== undefined || wireId === undefined || scope === undefined) return known ?? [];
  const found = await runtime.find({ generation, scope, wireId });
  return found === undefined ? [] : ((await runtime.scopesOf(found, principal)) ?? []);
}
