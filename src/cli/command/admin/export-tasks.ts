import { exportTask } from "../../../admin/export-task.ts";
import { HoldfastError } from "../../../task/fault.ts";
import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { selectionOf, type SelectionOptions } from "./selection.ts";
import { storePlace } from "./store-place.ts";
import { withAdmin } from "./with-admin.ts";

/** `holdfast admin STORE export`: prints one line of JSON for each task, newest first. */
export async function exportTasks(
  context: Context,
  { place, options }: { readonly place: string; readonly options: SelectionOptions },
): Promise<ExitCode> {
  const { output, io } = context;
  storePlace(io, place); // an endpoint has no journals
  return withAdmin(context, { place, options: {} }, async ({ admin, store, now }) => {
    if (store === undefined) return exitCodes.usage;
    const selection = selectionOf(options, now());
    let isWhole = true;
    for (let next: string | null = null, isFirst = true; isFirst || next !== null; isFirst = false) {
      const page = await admin.list({ ...selection, limit: 200, ...(next !== null && { after: next }) });
      for (const { id } of page.tasks) {
        try {
          await output.printJson(await exportTask(store, id), { line: true });
        } catch (error) {
          if (!(error instanceof HoldfastError)) throw error;
          if (error.code === "unknown_task") continue; // deleted in the meantime
          if (error.code !== "task_unreadable") throw error;
          output.note(error.message);
          isWhole = false;
        }
      }
      next = page.next;
    }
    return isWhole ? exitCodes.done : exitCodes.failed;
  });
}
