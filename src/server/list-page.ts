import { encodeCursor, readCursor } from "../generation/message.ts";
import type { ListPage, Requestor, Runtime } from "../runtime/runtime.ts";
import { isUnknownTask } from "../task/fault.ts";
import type { TaskRecord, TaskSnapshot } from "../task/record.ts";

/** Tasks on one page of `tasks/list`. */
const pageSize = 50;

/** How a generation lists a task. */
export interface Listing<T> {
  /** From the record alone; undefined if that is not enough. */
  short(task: TaskRecord): T | undefined;
  whole(snapshot: TaskSnapshot): T;
}

/** A page of the requestor's tasks, the newest first (C-072, C-073, S-046, S-047); rejects with `invalid_params`. */
export async function listPage<T>(
  runtime: Runtime,
  requestor: Requestor,
  params: unknown,
  listing: Listing<T>,
  part: Pick<ListPage, "scope"> = {},
): Promise<{ readonly tasks: readonly T[]; readonly nextCursor: string | undefined }> {
  const after = readCursor(params);
  // One more than fits tells whether there is another page.
  const page = { ...part, limit: pageSize + 1, ...(after === undefined ? {} : { after }) };
  const records = await runtime.list(requestor, page);
  const onPage = records.slice(0, pageSize);
  const last = records.length > pageSize ? onPage.at(-1) : undefined;
  const tasks: T[] = [];
  for (const record of onPage) {
    // One after the other, since outcomes may be large and only a line of each remains.
    const task = listing.short(record) ?? (await whole(runtime, requestor, record, listing));
    if (task !== undefined) tasks.push(task);
  }
  return { tasks, nextCursor: last === undefined ? undefined : encodeCursor(last.id) };
}

/** Undefined: it was just deleted. */
async function whole<T>(
  runtime: Runtime,
  requestor: Requestor,
  { id }: TaskRecord,
  listing: Listing<T>,
): Promise<T | undefined> {
  try {
    return listing.whole(await runtime.get(id, requestor));
  } catch (error) {
    if (isUnknownTask(error)) return undefined;
    throw error;
  }
}
