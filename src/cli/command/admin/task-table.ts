import type { TaskSummary } from "../../../admin/admin.ts";
import { fittedTable, type Column } from "../../output/fitted-table.ts";
import { spanText } from "../../output/times.ts";
import { duration } from "../../terminal/status-line.ts";

/** As much of an id as tells tasks apart that were not made in the same millisecond, and mostly those too. */
export const shownId = 16;

const columns: readonly Column[] = [
  { title: "ID", least: shownId },
  { title: "STATE", least: 9 },
  { title: "TOOL", least: 8 },
  { title: "AGE", least: 7 },
  { title: "RAN", least: 6 },
  { title: "PRINCIPAL", least: 6 },
  { title: "TEXT", least: 16 },
];

/** A line for each task; ids are whole for programs only. */
export function taskTable(tasks: readonly TaskSummary[], now: number, cells: number | undefined): string {
  const isForPeople = cells !== undefined;
  return fittedTable(
    columns,
    tasks.map((task) => [
      isForPeople ? task.id.slice(0, shownId) : task.id,
      task.state,
      task.tool,
      isForPeople ? duration(now - task.createdAt) : new Date(task.createdAt).toISOString(),
      ranText(task, now),
      task.principal ?? "",
      task.error ?? task.statusMessage ?? "",
    ]),
    cells,
  );
}

/** From its first start on, and how often it was started where that is more than once. */
function ranText({ startedAt, finishedAt, attempt }: TaskSummary, now: number): string {
  if (startedAt === null) return "";
  const span = spanText((finishedAt ?? now) - startedAt);
  return attempt > 1 ? `${span} (${attempt})` : span;
}
