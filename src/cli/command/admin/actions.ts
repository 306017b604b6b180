import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { fittedTable } from "../../output/fitted-table.ts";
import type { ActionsJson } from "../../output/json-shapes.ts";
import { actionColumns, actionRow } from "./action-table.ts";
import { findTask } from "./find-task.ts";
import { withAdmin } from "./with-admin.ts";

export interface ActionsOptions {
  /** Only actions on this task. */
  readonly task?: string;
  readonly before?: number;
  readonly limit: number;
}

/** `holdfast admin STORE actions`: lists operators' actions, newest first. */
export async function actions(
  context: Context,
  { place, options }: { readonly place: string; readonly options: ActionsOptions },
): Promise<ExitCode> {
  const { output } = context;
  const { task, before, limit } = options;
  return withAdmin(context, { place, options: {} }, async ({ admin }) => {
    const found = await admin.actions({
      limit,
      ...(task !== undefined && { taskId: await findTask(admin, task) }),
      ...(before !== undefined && { before }),
    });
    if (output.json) {
      const document: ActionsJson = { actions: found };
      await output.printJson(document);
    } else await output.print(fittedTable(actionColumns, found.map(actionRow), output.columns));
    return exitCodes.done;
  });
}
