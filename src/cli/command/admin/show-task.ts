import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { findTask } from "./find-task.ts";
import { taskReport } from "./task-report.ts";
import { withAdmin } from "./with-admin.ts";

/** `holdfast admin STORE show ID`: shows one task in full. */
export async function showTask(
  context: Context,
  { place, id }: { readonly place: string; readonly id: string },
): Promise<ExitCode> {
  const { output, io } = context;
  return withAdmin(context, { place, options: {} }, async ({ admin }) => {
    const task = await admin.show(await findTask(admin, id));
    if (output.json) await output.printJson(task);
    else await output.print(taskReport(task, io.now(), output.columns));
    return exitCodes.done;
  });
}
