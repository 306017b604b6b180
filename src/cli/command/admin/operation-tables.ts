import type { Activity, NodeSummary, Callers, ToolLatency } from "../../../admin/activity.ts";
import type { BulkAction, BulkJobShown } from "../../../admin/task-operations.ts";
import type { FailureGroup, Incident, OperatorSession } from "../../../admin/incident-operations.ts";
import type { TaskDelivery, WebhookBacklog } from "../../../admin/task-parts.ts";
import { spanText, tasksText, timeText, type Column, fittedTable } from "../../output/table.ts";
import { didYouMean } from "../../arguments/words.ts";
import { duration, fit } from "../../terminal/text.ts";
import type { AdminTaskState, Counts, TaskSummary, ToolCounts, WaitCounts } from "../../../admin/admin.ts";
import type { Input } from "../../../admin/operation.ts";
import type { AdminReads } from "../../../admin/operations.ts";
import type { TopJson } from "../../output/json-shapes.ts";

// What operations give, as tables for people.

export function failureTable(failures: readonly FailureGroup[], { now, cells }: Shown): string {
  const columns: readonly Column<FailureGroup>[] = [
    ["COUNT", 5, ({ count }) => count, "right"],
    ["LAST", 7, ({ lastAt }) => agoText(lastAt, now, cells)],
    ["NEWEST TASK", shownId, ({ taskId }) => idText(taskId, cells)],
    ["MESSAGE", 20, ({ message }) => message],
  ];
  return fittedTable(columns, failures, cells);
}

function agoText(at: number, now: number, cells: number | undefined): string {
  return cells === undefined ? new Date(at).toISOString() : `${duration(now - at)} ago`;
}

export function incidentTable(incidents: readonly Incident[], { now, cells }: Shown): string {
  const columns: readonly Column<Incident>[] = [
    ["CAUSE", 17, ({ cause }) => cause],
    ["TOOL", 8, ({ tool }) => tool],
    ["OPEN", 4, ({ open }) => open, "right"],
    ["CALLERS", 7, ({ callers }) => callers, "right"],
    ["SINCE", 7, ({ firstAt }) => agoText(firstAt, now, cells)],
    ["VERSION", 7, versionsText],
    ["LAST", 7, ({ lastAt }) => agoText(lastAt, now, cells)],
    ["MESSAGE", 20, ({ message }) => message],
    [
      "NOTE",
      4,
      ({ muted, note }) =>
        [muted && "muted", note].filter((part) => part !== null && part !== false).join(": "),
    ],
  ];
  return fittedTable(columns, incidents, cells);
}

/** The version with which it began, and the last one if that is another. */
function versionsText({ firstVersion, lastVersion }: Pick<Incident, "firstVersion" | "lastVersion">): string {
  const [first, last] = [firstVersion, lastVersion].map((version) => String(version ?? 1));
  return first === last ? `${first}` : `${first} to ${last}`;
}

export function webhookTable(webhooks: readonly WebhookBacklog[], cells: number | undefined): string {
  const columns: readonly Column<WebhookBacklog>[] = [
    ["WEBHOOK", 8, ({ webhook }) => webhook],
    ["WAITING", 7, ({ waiting }) => waiting, "right"],
    ["OLDEST", 20, ({ oldestAt }) => oldestAt && timeText(oldestAt)],
    ["GIVEN UP", 8, ({ givenUp }) => givenUp, "right"],
    ["LAST FAILURE", 12, ({ lastFailure: last }) => last && `${timeText(last.at)} ${last.problem}`],
  ];
  return fittedTable(columns, webhooks, cells);
}

export function deliveryTable(deliveries: readonly TaskDelivery[], { now, cells }: Shown): string {
  const columns: readonly Column<TaskDelivery>[] = [
    ["NUMBER", 6, ({ seq }) => seq, "right"],
    ["WEBHOOK", 8, ({ webhook }) => webhook],
    ["EVENT", 9, ({ event }) => event],
    ["TOOL", 8, ({ tool }) => tool],
    ["TASK", shownId, ({ taskId }) => idText(taskId, cells)],
    ["CHANGED", 7, ({ at }) => agoText(at, now, cells)],
    ["TRIES", 5, ({ tries }) => tries, "right"],
    ["NEXT", 20, ({ nextAt }) => (nextAt === null ? "given up" : timeText(nextAt))],
    ["LAST ERROR", 12, ({ problem }) => problem],
  ];
  return fittedTable(columns, deliveries, cells);
}

const doneTo: Readonly<Record<BulkAction, string>> = {
  cancel: "cancelled",
  retry: "run again",
  delete: "deleted",
  extend: "extended",
};

/** Such as `3 tasks were cancelled`. */
export function bulkText(count: number, action: BulkAction, verb: "will be" | "would be" | "was"): string {
  return `${tasksText(count)} ${verb === "was" && count !== 1 ? "were" : verb} ${doneTo[action]}`;
}

/** What became of a job so far. */
export const bulkShown = {
  text: ({ action, actor, state, counts }: BulkJobShown): string => {
    const isDry = state === "previewed";
    const done = bulkText(isDry ? counts.open : counts.done, action, isDry ? "would be" : "was");
    return `${state}, by ${actor}\n${done}\n`;
  },
  note: ({ state, counts, refused }: BulkJobShown): readonly (string | false)[] => [
    ...refused.slice(0, 10).map(({ id, message }) => `refused: ${id}: ${message}`),
    counts.refused > 10 && `refused: ${counts.refused - 10} more`,
    state !== "previewed" && counts.open > 0 && `not done: ${tasksText(counts.open)}`,
  ],
};

type ToolActivity = Activity["tools"][number];

const activityColumns: readonly Column<ToolActivity>[] = [
  ["TOOL", 8, ({ tool }) => tool],
  ["CREATED", 7, ({ created }) => created, "right"],
  ["COMPLETED", 9, ({ completed }) => completed, "right"],
  ["FAILED", 6, ({ failed }) => failed, "right"],
  ["CANCELLED", 9, ({ cancelled }) => cancelled, "right"],
  ["RETRIED", 7, ({ retried }) => retried, "right"],
  ["P50", 3, ({ p50Ms }) => p50Ms !== null && spanText(p50Ms), "right"],
  ["P95", 3, ({ p95Ms }) => p95Ms !== null && spanText(p95Ms), "right"],
];

const refusalColumns: readonly Column<Activity["refusals"][number]>[] = [
  ["REFUSED", 8, ({ code }) => code],
  ["METHOD", 8, ({ method }) => method],
  ["COUNT", 5, ({ count }) => count, "right"],
];

export function activityTables({ tools, refusals }: Activity, cells: number | undefined): string {
  const parts = [fittedTable(activityColumns, tools, cells), fittedTable(refusalColumns, refusals, cells)];
  return (refusals.length === 0 ? parts.slice(0, 1) : parts).join("\n");
}

export function nodeTable(nodes: readonly NodeSummary[], cells: number | undefined): string {
  const columns: readonly Column<NodeSummary>[] = [
    ["NODE", 8, ({ id }) => id],
    ["HOST", 8, ({ host }) => host ?? "(no report)"],
    ["PID", 5, ({ pid }) => pid, "right"],
    ["STATE", 5, stateOf],
    ["SLOTS", 5, ({ slots }) => slots && `${slots.used} of ${slots.limit}`],
    ["TASKS", 5, ({ running }) => running, "right"],
    ["REPORTED", 20, ({ reportedAt }) => reportedAt && timeText(reportedAt)],
  ];
  return fittedTable(columns, nodes, cells);
}

export function sessionTable(sessions: readonly OperatorSession[], cells: number | undefined): string {
  const columns: readonly Column<OperatorSession>[] = [
    ["SESSION", 8, ({ id }) => id],
    ["OPERATOR", 8, ({ actor }) => actor],
    ["ROLE", 5, ({ role }) => role],
    ["SINCE", 20, ({ since }) => timeText(since)],
    ["UNTIL", 20, ({ until }) => timeText(until)],
  ];
  return fittedTable(columns, sessions, cells);
}

export function callerTable({ callers }: Callers, cells: number | undefined): string {
  const columns: readonly Column<Callers["callers"][number]>[] = [
    ["CALLER", 8, ({ principal }) => principal ?? "(anonymous)"],
    ["FAILED", 6, ({ failed }) => failed, "right"],
    ["TASKS", 5, ({ tasks }) => tasks, "right"],
    ["WORKED", 6, ({ workedMs }) => spanText(workedMs), "right"],
  ];
  return fittedTable(columns, callers, cells);
}

export function latencyTable({ steps }: ToolLatency, cells: number | undefined): string {
  const columns: readonly Column<ToolLatency["steps"][number]>[] = [
    ["STEP", 8, ({ name }) => name],
    ["KIND", 5, ({ kind }) => kind],
    ["COUNT", 5, ({ count }) => count, "right"],
    ["P50", 3, ({ p50Ms }) => spanText(p50Ms), "right"],
    ["P95", 3, ({ p95Ms }) => spanText(p95Ms), "right"],
    ["MAX", 3, ({ maxMs }) => spanText(maxMs), "right"],
    ["SLOWEST TASK", shownId, ({ taskId }) => idText(taskId, cells)],
  ];
  return fittedTable(columns, steps, cells);
}

function stateOf({ alive, draining }: NodeSummary): string {
  if (!alive) return "gone";
  if (draining === null) return "alive";
  return draining.left === 0 ? "empty" : "draining";
}

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

const countNames: readonly CountName[] = [
  "queued",
  "waiting",
  "running",
  "inputRequired",
  "blocked",
  "completed",
  "failed",
  "cancelled",
];

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

/** Any name is taken, as a tool may be paused before its first task: a mistyped one would look like success. */
export async function toolNote(tool: string, admin: AdminReads): Promise<string | false> {
  const { tools } = await admin.counts();
  const stored = tools.filter((each) => countNames.some((name) => each[name] > 0)).map((each) => each.tool);
  if (stored.includes(tool)) return false;
  return `No task of a tool ${JSON.stringify(tool)} is stored. ${didYouMean(tool, stored)}`.trimEnd();
}

/** Of no failures, and of more than were looked at. */
export async function failuresNote(
  failures: readonly FailureGroup[],
  { tool, limit = 1_000 }: Input,
  admin: AdminReads,
): Promise<string | false> {
  if (failures.length === 0) return toolNote(String(tool), admin);
  const looked = failures.reduce((sum, { count }) => sum + count, 0);
  return looked >= Number(limit) && `Of the newest ${tasksText(looked)} that failed: incidents counts all`;
}

/** The totals of unfinished tasks. */
function totalsText({ tools, most }: Counts): string {
  const sum = (name: CountName): string =>
    countText(
      tools.reduce((total, tool) => total + tool[name], 0),
      most,
      tools.some((tool) => isEstimate(tool, name)),
    );
  const [running, asking, queued] = [sum("running"), sum("inputRequired"), sum("queued")];
  return `${running} running, ${asking} waiting for answers, ${sum("waiting")} waiting otherwise, ${queued} queued\n`;
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

/** A URL may contain a password, with any characters. */
function placeText(place: string): string {
  return place.replace(/\/\/.*@/s, "//").replace(/\?.*$/s, "");
}
