import type { Runtime } from "../../runtime/runtime.ts";
import { isUnknownTask } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { isTerminal } from "../../task/status.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { generation } from "./open-call.ts";
import { scopeOf, type PlainOwner } from "./owner.ts";
import { readReference } from "./reference.ts";

/**
 * So many tasks are shown to a model, and so many looked through at a time, this often: together as many as one principal
 * may have, of which most have ended long ago.
 */
const most = { shown: 20, onPage: 200, pages: 100 };

/** The caller's own task that `typed` means, a reference or an id; undefined for an unknown one and for another's. */
export async function findTask(
  runtime: Runtime,
  owner: PlainOwner,
  typed: string,
): Promise<TaskSnapshot | undefined> {
  const { principal, scopes } = owner;
  const scope = scopeOf(owner);
  const wireId = readReference(typed);
  const found =
    wireId === undefined || scope === undefined
      ? undefined
      : await runtime.find({ generation, scope, wireId });
  try {
    return await runtime.get(found ?? typed.trim(), { generation, principal, scopes });
  } catch (error) {
    if (isUnknownTask(error)) return undefined;
    throw error;
  }
}

/** The caller's own tasks that have not ended, the newest first, as many as a model can use; none of an unknown caller. */
export async function unfinishedTasks(runtime: Runtime, owner: PlainOwner): Promise<readonly TaskRecord[]> {
  const scope = scopeOf(owner);
  const tasks: TaskRecord[] = [];
  if (scope === undefined) return tasks;
  const { principal, scopes } = owner;
  let after: string | undefined;
  for (let pages = 0; pages < most.pages && tasks.length < most.shown; pages++) {
    const page = { scope, limit: most.onPage, ...(after === undefined ? {} : { after }) };
    const records = await runtime.list({ generation, principal, scopes }, page);
    tasks.push(...records.filter((task) => !isTerminal(task.state)));
    if (records.length < most.onPage) break;
    after = records.at(-1)?.id;
  }
  return tasks.slice(0, most.shown);
}
