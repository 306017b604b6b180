import { encodeCursor, readCursor } from "../generation/message.ts";
import type { Requestor, Runtime } from "../runtime/runtime.ts";
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

/** Tasks that are listed: a requestor's, or, with a scope, those whose names are unique in it. */
export interface Listed {
  readonly requestor: Requestor;
  readonly scope: string | undefined;
}

/**
 * A page of the tasks of all `parts`, the newest first (C-072, C-073, S-046, S-047); rejects with `invalid_params`. No task is in two parts.
 */
export async function listPage<T>(
  runtime: Runtime,
  parts: readonly Listed[],
  params: unknown,
  listing: Listing<T>,
): Promise<{ readonly tasks: readonly T[]; readonly nextCursor: string | undefined }> {
  const after = readCursor(params);
  // One more than fits tells whether there is another page.
  const page = { limit: pageSize + 1, ...(after === undefined ? {} : { after }) };
  const listed = await Promise.all(
    parts.map(async ({ requestor, scope }) => {
      const records = await runtime.list(requestor, { ...page, ...(scope === undefined ? {} : { scope }) });
      return records.map((record) => ({ record, requestor }));
    }),
  );
  const all = listed.flat().toSorted((a, b) => (a.record.id < b.record.id ? 1 : -1));
  const onPage = all.slice(0, pageSize);
  const last = all.length > pageSize ? onPage.at(-1) : undefined;
  const tasks: T[] = [];
  for (const { record, requestor } of onPage) {
    // One after the other, since outcomes may be large and only a line of each remains.
    const task = listing.short(record) ?? (await whole(runtime, requestor, record, listing));
    if (task !== undefined) tasks.push(task);
  }
  return { tasks, nextCursor: last === undefined ? undefined : encodeCursor(last.record.id) };
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
