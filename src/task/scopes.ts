import { HoldfastError } from "./fault.ts";
import type { Origin, TaskRecord } from "./record.ts";

type Needs = Pick<TaskRecord, "requiredScopes">;

/** Whether these scopes are enough for a task; undefined means all scopes. */
export function hasScopes({ requiredScopes }: Needs, scopes: readonly string[] | undefined): boolean {
  return scopes === undefined || requiredScopes.every((scope) => scopes.includes(scope));
}

/** Throws `insufficient_scope` if these scopes are not enough. */
export function assertScopes(task: Needs, scopes: readonly string[] | undefined): void {
  if (hasScopes(task, scopes)) return;
  const { requiredScopes } = task;
  throw new HoldfastError("insufficient_scope", `This task needs the scopes ${requiredScopes.join(", ")}.`, {
    data: { requiredScopes },
  });
}

/** The scopes that a call of the tool needs on behalf of a task's caller. */
export function scopesOfTool({ toolScopes = {} }: Origin, tool: string): readonly string[] {
  return Object.hasOwn(toolScopes, tool) ? (toolScopes[tool] ?? []) : []; // a handler can pass any name
}

/** Throws `insufficient_scope` if the token that created the task does not allow calls of the tool. */
export function assertMayCall(origin: Origin, tool: string): void {
  const requiredScopes = scopesOfTool(origin, tool);
  const scopes = origin.caller?.scopes ?? [];
  if (requiredScopes.every((scope) => scopes.includes(scope))) return;
  const message = `The caller of this task may not call tool "${tool}", which needs the scopes ${requiredScopes.join(", ")}.`;
  throw new HoldfastError("insufficient_scope", message, { data: { requiredScopes } });
}
