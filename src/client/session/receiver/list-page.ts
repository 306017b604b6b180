import { encodeCursor, readCursor } from "../../../generation/cursor.ts";
import type { JsonObject } from "../../../generation/json-object.ts";
import type { ListPage, Requestor, Runtime } from "../../../runtime/runtime.ts";
import type { TaskRecord } from "../../../task/record.ts";

/** Tasks on one page of `tasks/list`. */
const pageSize = 50;

/** A page of the server's tasks, the newest first (C-072, C-073, S-046, S-047); rejects with `invalid_params`. */
export async function listPage(
  runtime: Runtime,
  requestor: Requestor,
  params: JsonObject,
  part: Pick<ListPage, "scope"> = {},
): Promise<{ readonly records: readonly TaskRecord[]; readonly nextCursor: string | undefined }> {
  const after = readCursor(params);
  const limit = pageSize + 1; // one more than fits tells whether there is another page
  const found = await runtime.list(requestor, { ...part, limit, ...(after !== undefined && { after }) });
  const records = found.slice(0, pageSize);
  const last = found.length > pageSize ? records.at(-1) : undefined;
  return { records, nextCursor: last === undefined ? undefined : encodeCursor(last.id) };
}
