import type { Task } from "@modelcontextprotocol/sdk/types.js";
import type { TaskFilter, TaskStore } from "../store/store.ts";
import { HoldfastError } from "../task/fault.ts";
import type { TaskRecord } from "../task/record.ts";
import { generation, isSdkV1Task } from "./task-commands.ts";
import { sdkTask } from "./sdk-task.ts";
import type { SdkV1Services } from "./options.ts";

const pageSize = 10;

/** A cursor is the id of a page's last task. It stays valid when that task is deleted. */
const cursorForm = /^[\da-f]{12}[\w-]{22}$/;

/**
 * One page of the tasks that an owner may see, newest first: its own and those without an owner, or all if `owner`
 * is undefined. Throws `invalid_params` for a malformed cursor.
 */
export async function listTasks(
  { store, clock, sweeper }: SdkV1Services,
  owner: string | undefined,
  cursor: string | undefined,
): Promise<{ tasks: Task[]; nextCursor?: string }> {
  const before = cursor === undefined || cursor === "" ? null : cursor;
  if (before !== null && !cursorForm.test(before)) {
    throw new HoldfastError("invalid_params", `Invalid cursor: ${before}`);
  }
  const owners: TaskFilter[] =
    owner === undefined
      ? [{ generation }]
      : [
          { generation, principal: owner },
          { generation, principal: null },
        ];
  const now = clock.now();
  const found = await Promise.all(owners.map((each) => newest(store, each, before, now)));
  const sorted = found.flat().sort((a, b) => (a.id < b.id ? 1 : -1));
  const page = await Promise.all(sorted.slice(0, pageSize).map((task) => sweeper.ended(task)));
  const last = sorted.length > pageSize ? page.at(-1) : undefined;
  return { tasks: page.map(sdkTask), ...(last === undefined ? {} : { nextCursor: last.id }) };
}

/** The newest SDK v1 tasks of an owner, one more than fits on a page: it shows whether another page follows. */
async function newest(
  store: TaskStore,
  owner: TaskFilter,
  before: string | null,
  now: number,
): Promise<readonly TaskRecord[]> {
  const ours: TaskRecord[] = [];
  const limit = pageSize + 1;
  for (let from = before; ours.length < limit;) {
    const tasks = await store.list(owner, from, limit, now);
    ours.push(...tasks.filter(isSdkV1Task));
    if (tasks.length < limit) break;
    from = tasks.at(-1)?.id ?? from;
  }
  return ours.slice(0, limit);
}
