import type { KnownTask } from "../state/state.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { duration, fit } from "../terminal/status-line.ts";
import { fittedTable, type Column } from "./fitted-table.ts";
import type { ListedTaskJson } from "./json-shapes.ts";
import { table } from "./table.ts";

/** A task of the list. */
export interface ListedTask {
  readonly task: KnownTask;
  /** Its server's answer just now, if it was asked. */
  readonly refreshed: Pick<ListedTaskJson, "status" | "statusMessage">;
}

interface TableOptions {
  /** One for each task. */
  readonly numbers: readonly number[];
  /** Epoch milliseconds. */
  readonly now: number;
  /** How wide the terminal is. */
  readonly columns: number | undefined;
}

const columns: readonly Column[] = [
  { title: "#", least: 1, isNumber: true },
  { title: "STATUS", least: 14 },
  { title: "AGE", least: 7 },
  { title: "TOOL", least: 10 },
  { title: "SERVER", least: 16 },
];

/** On a terminal of at most this width, long tool names are cut to leave room for the servers. */
const narrow = 100;
const narrowTool = 24;

/** The list for people: each task's number, to refer to it, and its status. */
export function taskTable(
  tasks: readonly ListedTask[],
  { numbers, now, columns: cells }: TableOptions,
): string {
  const isNarrow = (cells ?? narrow) <= narrow;
  const rows = tasks.map((listed, at) => {
    const { call, shown } = listed.task;
    return [
      String(numbers[at] ?? ""),
      statusText(listed),
      duration(now - call.startedAt),
      isNarrow ? fit(sanitizeLine(call.tool), narrowTool, true) : call.tool,
      shown,
    ];
  });
  return fittedTable(columns, rows, cells ?? narrow);
}

/** The list for programs: whole ids and times, separated by tabs. */
export function taskRows(tasks: readonly ListedTask[]): string {
  const rows = tasks.map((listed) => {
    const { id, call, shown } = listed.task;
    const state = statusOf(listed);
    const startedAt = new Date(call.startedAt).toISOString();
    return [id, call.tool, shown, startedAt, ...(state === undefined ? [] : [state])];
  });
  return table(rows, false);
}

/** The status in a word or two. Distinguishes results that were printed from those that were not. */
function statusText(listed: ListedTask): string {
  const { seen, isOver } = listed.task;
  const status = statusOf(listed) ?? "started";
  const isKnown = listed.refreshed.status === undefined || listed.refreshed.status === seen?.status;
  const text = isKnown && seen?.isError === true ? "error" : status;
  const isUnread = !isOver && ["completed", "failed", "cancelled", "error"].includes(text);
  return isUnread ? `${text}, unread` : text;
}

function statusOf({ task: { call, seen }, refreshed }: ListedTask): string | undefined {
  if (call.taskId === null) return "no answer yet";
  const { status = seen?.status, statusMessage } = refreshed;
  return statusMessage === undefined ? status : `${status}: ${statusMessage}`;
}
