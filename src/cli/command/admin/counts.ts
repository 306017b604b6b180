import type { Counts, ToolCounts } from "../../../admin/admin.ts";
import { fittedTable, type Column } from "../../output/fitted-table.ts";
import { timeText } from "../../output/times.ts";

const countColumns: readonly Column[] = [
  { title: "TOOL", least: 8 },
  { title: "QUEUED", least: 6, isNumber: true },
  { title: "WAITING", least: 7, isNumber: true },
  { title: "RUNNING", least: 7, isNumber: true },
  { title: "ASKING", least: 6, isNumber: true },
  { title: "DONE", least: 6, isNumber: true },
  { title: "FAILED", least: 6, isNumber: true },
  { title: "CANCELLED", least: 9, isNumber: true },
  { title: "PAUSED BY", least: 6 },
];

/** One line for each tool. */
export function countTable({ tools, most }: Counts, cells: number | undefined): string {
  const number = (count: number): string => countText(count, most);
  const rows = tools.map(({ tool, paused, ...of }) => [
    tool,
    ...[of.queued, of.waiting, of.running, of.inputRequired].map(number),
    ...[of.completed, of.failed, of.cancelled].map(number),
    paused === null ? "" : `${paused.actor} since ${timeText(paused.since)}`,
  ]);
  return fittedTable(countColumns, rows, cells);
}

/** The totals of running, asking and queued tasks. */
export function totalsText({ tools, most }: Counts): string {
  const sum = (of: (tool: ToolCounts) => number): string =>
    countText(
      tools.reduce((total, tool) => total + of(tool), 0),
      most,
    );
  const [running, asking, queued] = [
    sum((tool) => tool.running),
    sum((tool) => tool.inputRequired),
    sum((tool) => tool.queued),
  ];
  return `${running} running, ${asking} waiting for answers, ${queued} queued\n`;
}

/** Counts end at `most`. */
function countText(count: number, most: number): string {
  return count >= most ? `${most}+` : String(count);
}
