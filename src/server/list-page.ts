import { encodeCursor, readCursor } from "../generation/message.ts";
import type { Requestor, Runtime } from "../runtime/runtime.ts";
import type { TaskRecord } from "../task/record.ts";

/** Tasks on one page of `tasks/list`. */
const pageSize = 50;

/** Tasks that are listed: a requestor's, or, with a scope, those whose names are unique in it. */
export interface Listed {
  readonly requestor: Requestor;
  readonly scope: string | undefined;
}

/**
 * A page of the tasks of all `parts`, the newest first (C-072, C-073, S-046, S-047); rejects with `invalid_params`. No task is in two parts,
 * and no outcome is read.
 */
export async function listPage<T>(
  runtime: Runtime,
  parts: readonly Listed[],
  params: unknown,
  shown: (task: TaskRecord) => T,
): Promise<{ readonly tasks: readonly T[]; readonly nextCursor: string | undefined }> {
  const after = readCursor(params);
  // One more than fits tells whether there is another page.
  const page = { limit: pageSize + 1, ...(after === undefined ? {} : { after }) };
  const listed = await Promise.all(
    parts.map(async ({ requestor, scope }) => {
      return runtime.list(requestor, { ...page, ...(scope === undefined ? {} : { scope }) });
    }),
  );
  const all = listed.flat().toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const onPage = all.slice(0, pageSize);
  const last = all.length > pageSize ? onPage.at(-1) : undefined;
  const nextCursor = last === undefined ? undefined : encodeCursor(last.id);
  return { tasks: onPage.map((record) => shown(record)), nextCursor };
}
