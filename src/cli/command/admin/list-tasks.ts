import type { TaskPage, TaskSelection, TaskSummary } from "../../../admin/admin.ts";
import type { Admin } from "../../../admin/operations.ts";
import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { selectionOf, type SelectionOptions } from "./selection.ts";
import { noteBehind, taskTable } from "./task-table.ts";
import { withAdmin } from "./with-admin.ts";

export interface ListTasksOptions extends SelectionOptions {
  readonly limit: number;
  readonly after?: string;
}

/** The maximum number of tasks on one page. */
const longestPage = 1_000;

/** `holdfast admin STORE list`: lists tasks, newest first. */
export async function listTasks(
  context: Context,
  { place, options }: { readonly place: string; readonly options: ListTasksOptions },
): Promise<ExitCode> {
  const { output } = context;
  return withAdmin(context, { place, options: {} }, async (session) => {
    const { admin } = session;
    const now = session.now();
    const page = await pageOf(admin, selectionOf(options, now), options);
    if (output.json) await output.printJson(page);
    else await output.print(taskTable(page.tasks, now, output.columns));
    if (!output.json && page.next !== null) output.note(`For more, add --after ${page.next}`);
    noteBehind(output, page);
    return exitCodes.done;
  });
}

/** As many tasks as requested, if there are that many. A page of the store may be shorter before the last. */
async function pageOf(
  admin: Admin,
  selection: TaskSelection,
  { limit, after }: ListTasksOptions,
): Promise<TaskPage> {
  const tasks: TaskSummary[] = [];
  let next: string | null = after ?? null;
  let behind: Pick<TaskPage, "behindMs"> = {};
  do {
    const page: TaskPage = await admin.list({
      ...selection,
      limit: Math.min(limit - tasks.length, longestPage),
      ...(next !== null && { after: next }),
    });
    tasks.push(...page.tasks);
    next = page.next;
    const { behindMs } = page;
    if (behindMs !== undefined) behind = { behindMs: Math.max(behindMs, behind.behindMs ?? 0) };
  } while (next !== null && tasks.length < limit);
  return { tasks, next, ...behind };
}
