import type { Activity, NodeSummary, Callers, ToolLatency } from "../../../admin/activity.ts";
import type { BulkAction, BulkJobShown } from "../../../admin/task-operations.ts";
import type { FailureGroup, Incident, OperatorSession } from "../../../admin/incident-operations.ts";
import type { TaskDelivery, WebhookBacklog } from "../../../admin/task-parts.ts";
import { spanText, tasksText, timeText } from "../../output/amounts.ts";
import { type Column, fittedTable } from "../../output/table.ts";
import { duration } from "../../terminal/text.ts";
import { idText, shownId, type Shown } from "./task-table.ts";

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
