import type { TaskSummary } from "../../../admin/admin.ts";
import { fittedTable, type Column } from "../../output/fitted-table.ts";
import type { Output } from "../../output/output.ts";
import { spanText } from "../../output/times.ts";
import { duration } from "../../terminal/status-line.ts";

/** Enough of an id to distinguish tasks that were not created in the same millisecond, and usually those too. */
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

/** One line for each task. Only programs get whole ids. */
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

/** The time since its first start, and the number of starts if there was more than one. */
function ranText({ startedAt, finishedAt, attempt }: TaskSummary, now: number): string {
  if (startedAt === null) return "";
  const span = spanText((finishedAt ?? now) - startedAt);
  return attempt > 1 ? `${span} (${attempt})` : span;
}

/** Says that a list is older than now because it comes from a replica. */
export function noteBehind(output: Output, given: unknown): void {
  const { behindMs = 0 } = (given ?? {}) as { readonly behindMs?: number };
  if (behindMs > 0 && !output.json) output.note(`Read from a replica, ${spanText(behindMs)} behind.`);
}
