import { HoldfastError } from "./fault.ts";
import type { TaskRecord } from "./record.ts";

type Needs = Pick<TaskRecord, "requiredScopes">;

/** Whether scopes are enough for a task; undefined stands for all there are. */
export function hasScopes({ requiredScopes }: Needs, scopes: readonly string[] | undefined): boolean {
  return scopes === undefined || requiredScopes.every((scope) => scopes.includes(scope));
}

/** Throws `insufficient_scope` where they are not enough. */
export function assertScopes(task: Needs, scopes: readonly string[] | undefined): void {
  if (hasScopes(task, scopes)) return;
  const { requiredScopes } = task;
  throw new HoldfastError("insufficient_scope", `This task needs the scopes ${requiredScopes.join(", ")}.`, {
    data: { requiredScopes },
  });
}
