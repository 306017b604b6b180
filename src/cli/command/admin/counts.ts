import type { Counts, ToolCounts, WaitCounts } from "../../../admin/admin.ts";
import { fittedTable, type Column } from "../../output/fitted-table.ts";
import { timeText } from "../../output/times.ts";

type CountName = NonNullable<ToolCounts["estimated"]>[number];

interface CountColumn extends Column {
  readonly text: (tool: ToolCounts, number: (name: CountName) => string) => string;
}

const waitsFor = "WAITS FOR";

const countColumns: readonly CountColumn[] = [
  { title: "TOOL", least: 8, text: ({ tool }) => tool },
  numbers("QUEUED", "queued"),
  numbers("WAITING", "waiting"),
  numbers("RUNNING", "running"),
  numbers("ASKING", "inputRequired"),
  numbers("BLOCKED", "blocked"),
  numbers("DONE", "completed"),
  numbers("FAILED", "failed"),
  numbers("CANCELLED", "cancelled"),
  { title: waitsFor, least: waitsFor.length, text: ({ waitsFor: counts }) => waitsText(counts) },
  {
    title: "PAUSED BY",
    least: 6,
    text: ({ paused }) => (paused === null ? "" : `${paused.actor} since ${timeText(paused.since)}`),
  },
];

function numbers(title: string, name: CountName): CountColumn {
  return {
    title,
    least: Math.max(6, title.length),
    isNumber: true,
    text: (_, number) => number(name),
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
  const hasBlocked = cells === undefined || tools.some(({ blocked }) => blocked > 0);
  const hasWaits = cells !== undefined && tools.some((tool) => waitsText(tool.waitsFor) !== "");
  const columns = countColumns.filter(
    ({ title }) => (hasBlocked || title !== "BLOCKED") && (hasWaits || title !== waitsFor),
  );
  const rows = tools.map((tool) =>
    columns.map(({ text }) => text(tool, (name) => countText(tool[name], most, isEstimate(tool, name)))),
  );
  return fittedTable(columns, rows, cells);
}

/** The totals of running, asking and queued tasks. */
export function totalsText({ tools, most }: Counts): string {
  const sum = (name: CountName): string =>
    countText(
      tools.reduce((total, tool) => total + tool[name], 0),
      most,
      tools.some((tool) => isEstimate(tool, name)),
    );
  const [running, asking, queued] = [sum("running"), sum("inputRequired"), sum("queued")];
  return `${running} running, ${asking} waiting for answers, ${queued} queued\n`;
}

function isEstimate({ estimated = [] }: ToolCounts, name: CountName): boolean {
  return estimated.includes(name);
}

/** Exact counts end at `most`. */
function countText(count: number, most: number, isEstimated: boolean): string {
  if (isEstimated) return `~${count}`;
  return count >= most ? `${most}+` : String(count);
}
