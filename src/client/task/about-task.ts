import { TaskClientError } from "../task-client-error.ts";
import type { TaskReference } from "./task-reference.ts";

/** What somebody is told who has to do with this task: the same error, with the task's reference. */
export function aboutTask(error: unknown, reference: TaskReference): unknown {
  if (!(error instanceof TaskClientError) || error.reference !== undefined) return error;
  const { code, message, cause, error: rpcError, stack } = error;
  const told = new TaskClientError(code, message, { cause, error: rpcError, reference });
  if (stack !== undefined) told.stack = stack;
  return told;
}
