import type { AdminTaskState, Counts, TaskSummary, ToolCounts, WaitCounts } from "../../../admin/admin.ts";
import type { AdminReads } from "../../../admin/operations.ts";
import type { TopJson } from "../../output/json-shapes.ts";
import { type Column, fittedTable } from "../../output/table.ts";
import { spanText, timeText } from "../../output/amounts.ts";
import { duration, fit } from "../../terminal/text.ts";

export interface Shown {
  readonly now: number;
  /** The width of the terminal; undefined for programs. */
  readonly cells: number | undefined;
  /** The store, as it was typed. */
  readonly place: string;
}

/** Enough of an id to distinguish tasks that were not created in the same millisecond, and usually those too. */
export const shownId = 16;

/** Only programs get whole ids. */
export function idText(id: string, cells: number | undefined): string {
  return cells === undefined ? id : id.slice(0, shownId);
}

/** One line for each task. */
export function taskTable(tasks: readonly TaskSummary[], now: number, cells: number | undefined): string {
  const isForPeople = cells !== undefined;
  const columns: readonly Column<TaskSummary>[] = [
    ["ID", shownId, ({ id }) => idText(id, cells)],
    ["STATE", 9, ({ state }) => state],
    ["TOOL", 8, ({ tool }) => tool],
    ["AGE", 7, ({ createdAt: at }) => (isForPeople ? duration(now - at) : new Date(at).toISOString())],
    ["RAN", 6, (task) => ranText(task, now)],
    ["PRINCIPAL", 6, ({ principal }) => principal],
    ["TEXT", 16, ({ error, statusMessage }) => error ?? statusMessage],
  ];
  return fittedTable(columns, tasks, cells);
}

/** The time since its first start, and the number of starts if there was more than one. */
function ranText({ startedAt, finishedAt, attempt }: TaskSummary, now: number): string {
  if (startedAt === null) return "";
  const span = spanText((finishedAt ?? now) - startedAt);
  return attempt > 1 ? `${span} (${attempt})` : span;
}

/** Says that a list is older than now because it comes from a replica. */
export function behindText(given: unknown): string | false {
  const { behindMs = 0 } = (given ?? {}) as { readonly behindMs?: number };
  return behindMs > 0 && `Read from a replica, ${spanText(behindMs)} behind.`;
}

type CountName = NonNullable<ToolCounts["estimated"]>[number];

const waitsFor = "WAITS FOR";

function countColumns(most: number): readonly Column<ToolCounts>[] {
  const numbers = (title: string, name: CountName): Column<ToolCounts> => [
    title,
    Math.max(6, title.length),
    (tool) => countText(tool[name], most, isEstimate(tool, name)),
    "right",
  ];
  return [
    ["TOOL", 8, ({ tool }) => tool],
    numbers("QUEUED", "queued"),
    numbers("WAITING", "waiting"),
    numbers("RUNNING", "running"),
    numbers("ASKING", "inputRequired"),
    numbers("BLOCKED", "blocked"),
    numbers("DONE", "completed"),
    numbers("FAILED", "failed"),
    numbers("CANCELLED", "cancelled"),
    [waitsFor, waitsFor.length, ({ waitsFor: counts }) => waitsText(counts)],
    ["PAUSED BY", 6, ({ paused }) => paused && `${paused.actor} since ${timeText(paused.since)}`],
  ];
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
  const columns = countColumns(most).filter(
    ([title]) => (hasBlocked || title !== "BLOCKED") && (hasWaits || title !== waitsFor),
  );
  return fittedTable(columns, tools, cells);
}

/** The totals of running, asking and queued tasks. */
function totalsText({ tools, most }: Counts): string {
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

const openStates: readonly AdminTaskState[] = ["running", "input_required", "blocked", "waiting", "queued"];

/** The number of unfinished tasks to list if the room for them is unknown. */
export const usualTasks = 20;

export async function readTop(admin: AdminReads, limit: number): Promise<TopJson> {
  const [counts, { tasks }] = await Promise.all([
    admin.counts(),
    admin.list({ states: openStates, limit: Math.max(1, limit) }),
  ]);
  return { counts, tasks };
}

export function topText({ counts, tasks }: TopJson, { now, cells, place }: Shown): string {
  const head = fit(`${timeText(now)}  ${placeText(place)}`, cells ?? Infinity, true);
  return [`${head}\n${totalsText(counts)}`, countTable(counts, cells), taskTable(tasks, now, cells)].join(
    "\n",
  );
}

/** A URL may contain a password. */
function placeText(place: string): string {
  return place.replace(/\/\/[^/@]*@/, "//").replace(/\?.*$/s, "");
}
