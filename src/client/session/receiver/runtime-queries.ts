import type { Requestor, Runtime, ListPage } from "../../../runtime/runtime.ts";
import { waitFor } from "../../../runtime/wait-for.ts";
import { isUnknownTask } from "../../../task/fault.ts";
import type { TaskSnapshot, TaskRecord } from "../../../task/record.ts";
import { encodeCursor, readCursor, type JsonObject } from "../../../generation/message.ts";

/** Waits until the task has ended. Rejects with `unknown_task` or the signal's reason. */
export async function untilFinished(
  runtime: Runtime,
  requestor: Requestor,
  id: string,
  signal: AbortSignal,
): Promise<TaskSnapshot> {
  for (;;) {
    let changed = false;
    let wake = (): void => undefined;
    // Watch before reading, so that no change is missed.
    const stop = runtime.watch([id], () => {
      changed = true;
      wake();
    });
    try {
      const snapshot = await runtime.get(id, requestor);
      if (snapshot.task.finishedAt !== null) return snapshot;
      await waitFor((done) => {
        wake = done;
        if (changed) done();
        return () => undefined;
      }, signal);
    } finally {
      stop();
    }
  }
}

/** The server's own task whose question the task is, by its id there. Rejects with `unknown_task`. */
export async function parentOf(
  { runtime, requestor }: { readonly runtime: Runtime; readonly requestor: Requestor },
  { id }: TaskRecord,
): Promise<string | undefined> {
  return (await runtime.originOf(id, requestor)).askedBy;
}

/** What `show` makes of each task, without those that were deleted meanwhile. */
export async function unlessDeleted<T>(
  records: readonly TaskRecord[],
  show: (record: TaskRecord) => Promise<T>,
): Promise<T[]> {
  const shown = await Promise.all(
    records.map(async (record) => {
      try {
        return [await show(record)];
      } catch (error) {
        if (isUnknownTask(error)) return [];
        throw error;
      }
    }),
  );
  return shown.flat(1);
}

/** Tasks on one page of `tasks/list`. */
const pageSize = 50;

/** A page of the server's tasks, newest first (C-072, C-073, S-046, S-047). Rejects with `invalid_params`. */
export async function listPage(
  runtime: Runtime,
  requestor: Requestor,
  params: JsonObject,
  part: Pick<ListPage, "scope"> = {},
): Promise<{ readonly records: readonly TaskRecord[]; readonly nextCursor: string | undefined }> {
  const after = readCursor(params);
  const limit = pageSize + 1; // one more shows whether there is another page
  const found = await runtime.list(requestor, { ...part, limit, ...(after !== undefined && { after }) });
  const records = found.slice(0, pageSize);
  const last = found.length > pageSize ? records.at(-1) : undefined;
  return { records, nextCursor: last === undefined ? undefined : encodeCursor(last.id) };
}
