import type { Context } from "../../context.ts";
import { exitCodes, type ExitCode } from "../../exit-code.ts";
import { fittedTable, type Column } from "../../output/fitted-table.ts";
import type { FailuresJson } from "../../output/json-shapes.ts";
import { duration } from "../../terminal/status-line.ts";
import { shownId } from "./task-table.ts";
import { withAdmin } from "./with-admin.ts";

const failureColumns: readonly Column[] = [
  { title: "COUNT", least: 5, isNumber: true },
  { title: "LAST", least: 7 },
  { title: "NEWEST TASK", least: shownId },
  { title: "MESSAGE", least: 20 },
];

/** `holdfast admin STORE failures TOOL`: why its newest failed tasks failed, the most frequent reason first. */
export async function failures(
  context: Context,
  {
    place,
    tool,
    limit,
  }: { readonly place: string; readonly tool: string; readonly limit: number | undefined },
): Promise<ExitCode> {
  const { output } = context;
  return withAdmin(context, { place, options: {} }, async ({ admin, now }) => {
    const groups = await admin.failures(tool, limit);
    if (output.json) {
      const document: FailuresJson = { tool, failures: groups };
      await output.printJson(document);
      return exitCodes.done;
    }
    const cells = output.columns;
    const isForPeople = cells !== undefined;
    const rows = groups.map(({ count, lastAt, taskId, message }) => [
      String(count),
      isForPeople ? `${duration(now() - lastAt)} ago` : new Date(lastAt).toISOString(),
      isForPeople ? taskId.slice(0, shownId) : taskId,
      message,
    ]);
    await output.print(fittedTable(failureColumns, rows, cells));
    return exitCodes.done;
  });
}
