import type { Counts, ToolCounts, WaitCounts } from "../../../admin/admin.ts";
import { fittedTable, type Column } from "../../output/fitted-table.ts";
import { timeText } from "../../output/times.ts";

interface CountColumn extends Column {
  readonly text: (tool: ToolCounts, number: (count: number) => string) => string;
}

const waitsFor = "WAITS FOR";

const countColumns: readonly CountColumn[] = [
  { title: "TOOL", least: 8, text: ({ tool }) => tool },
  numbers("QUEUED", ({ queued }) => queued),
  numbers("WAITING", ({ waiting }) => waiting),
  numbers("RUNNING", ({ running }) => running),
  numbers("ASKING", ({ inputRequired }) => inputRequired),
  numbers("BLOCKED", ({ blocked }) => blocked),
  numbers("DONE", ({ completed }) => completed),
  numbers("FAILED", ({ failed }) => failed),
  numbers("CANCELLED", ({ cancelled }) => cancelled),
  { title: waitsFor, least: waitsFor.length, text: ({ waitsFor: counts }) => waitsText(counts) },
  {
    title: "PAUSED BY",
    least: 6,
    text: ({ paused }) => (paused === null ? "" : `${paused.actor} since ${timeText(paused.since)}`),
  },
];

function numbers(title: string, of: (tool: ToolCounts) => number): CountColumn {
  return {
    title,
    least: Math.max(6, title.length),
    isNumber: true,
    text: (tool, number) => number(of(tool)),
  };
}

/** Such as `2 event, 1 sleep`. The columns of queued tasks and of questions have the others. */
function waitsText(counts: WaitCounts): string {
  return Object.entries(counts)
    .filter(([reason, count]) => count > 0 && reason !== "slot" && reason !== "question")
    .map(([reason, count]) => `${count} ${reason}`)
    .join(", ");
}

/**
 * One line for each tool. People see the column of blocked tasks, and what others wait for, when there are some; programs have the same
 * columns always.
 */
export function countTable({ tools, most }: Counts, cells: number | undefined): string {
  const number = (count: number): string => countText(count, most);
  const hasBlocked = cells === undefined || tools.some(({ blocked }) => blocked > 0);
  const hasWaits = cells !== undefined && tools.some((tool) => waitsText(tool.waitsFor) !== "");
  const columns = countColumns.filter(
    ({ title }) => (hasBlocked || title !== "BLOCKED") && (hasWaits || title !== waitsFor),
  );
  const rows = tools.map((tool) => columns.map(({ text }) => text(tool, number)));
  return fittedTable(columns, rows, cells);
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
