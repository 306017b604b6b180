import type { Admin } from "../../../admin/operations.ts";
import { TaskClientError } from "../../../client/task-client-error.ts";
import { isTaskId } from "../../../task/record-changes.ts";
import { UsageError } from "../../errors.ts";

/** Sorts after every character of an id. */
const afterAll = "~";

/** The id of a task, given whole or as a unique beginning, which is all that lists on a terminal show. */
export async function findTask(admin: Admin, given: string): Promise<string> {
  if (given === "") throw new UsageError("The id is empty. Give a task's id or the start of it.");
  if (isTaskId(given)) return given;
  const { tasks } = await admin.list({ after: `${given}${afterAll}`, limit: 2 });
  const found = tasks.map(({ id }) => id).filter((id) => id.startsWith(given));
  const [id] = found;
  if (id === undefined) throw new TaskClientError("unknown_task", `There is no task ${given}.`);
  if (found.length > 1 && !found.includes(given))
    throw new UsageError(`The ids of several tasks start with ${given}: give more of it.`);
  return found.includes(given) ? given : id;
}
