import { isOver } from "../task/expiry.ts";
import { unknownTask } from "../task/fault.ts";
import type { TaskRecord } from "../task/record.ts";
import { assertScopes } from "../task/required-scopes.ts";
import type { Requestor } from "./runtime.ts";

/** Throws `unknown_task` for a task of somebody else and for one whose time is over, and where a scope is missing. */
export function assertVisible(task: TaskRecord, requestor: Requestor, now: number): void {
  const { generation, principal, scopes } = requestor;
  if (task.principal !== principal || task.generation !== generation || isOver(task, now))
    throw unknownTask();
  assertScopes(task, scopes);
}
