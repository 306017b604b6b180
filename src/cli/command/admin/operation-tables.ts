import type { Activity, NodeSummary } from "../../../admin/activity.ts";
import type { FailureGroup, Incident } from "../../../admin/incident-shapes.ts";
import type { OperatorSession } from "../../../admin/incident-operations.ts";
import type { Callers, ToolLatency } from "../../../admin/usage-shapes.ts";
import type { WebhookBacklog } from "../../../admin/webhook-shapes.ts";
import { spanText, timeText } from "../../output/amounts.ts";
import { fittedTable } from "../../output/table.ts";
import { duration } from "../../terminal/text.ts";
import { shownId } from "./task-table.ts";

// What operations give, as tables for people.

export interface Shown {
  readonly now: number;
  /** The width of the terminal; undefined for programs. */
  readonly cells: number | undefined;
}

export function failureTable(failures: readonly FailureGroup[], { now, cells }: Shown): string {
  const isForPeople = cells !== undefined;
  const columns = [
    { title: "COUNT", least: 5, isNumber: true },
    { title: "LAST", least: 7 },
    { title: "NEWEST TASK", least: shownId },
    { title: "MESSAGE", least: 20 },
  ] as const;
  const rows = failures.map(({ count, lastAt, taskId, message }) => [
    String(count),
    isForPeople ? `${duration(now - lastAt)} ago` : new Date(lastAt).toISOString(),
    isForPeople ? taskId.slice(0, shownId) : taskId,
    message,
  ]);
  return fittedTable(columns, rows, cells);
}

export function incidentTable(incidents: readonly Incident[], { now, cells }: Shown): string {
  const ago = (at: number): string =>
    cells === undefined ? new Date(at).toISOString() : `${duration(now - at)} ago`;
  const columns = [
    { title: "CAUSE", least: 17 },
    { title: "TOOL", least: 8 },
    { title: "OPEN", least: 4, isNumber: true },
    { title: "CALLERS", least: 7, isNumber: true },
    { title: "SINCE", least: 7 },
    { title: "VERSION", least: 7 },
    { title: "LAST", least: 7 },
    { title: "MESSAGE", least: 20 },
    { title: "NOTE", least: 4 },
  ] as const;
  const rows = incidents.map(({ cause, tool, open, callers, message, note, ...incident }) => [
    cause,
    tool,
    String(open),
    String(callers),
    ago(incident.firstAt),
    versionsText(incident),
    ago(incident.lastAt),
    message,
    [...(incident.muted ? ["muted"] : []), ...(note === null ? [] : [note])].join(": "),
  ]);
  return fittedTable(columns, rows, cells);
}

/** The version with which it began, and the last one if that is another. */
function versionsText({ firstVersion, lastVersion }: Pick<Incident, "firstVersion" | "lastVersion">): string {
  const [first, last] = [firstVersion, lastVersion].map((version) => String(version ?? 1));
  return first === last ? `${first}` : `${first} to ${last}`;
}

export function webhookTable(webhooks: readonly WebhookBacklog[], cells: number | undefined): string {
  const columns = [
    { title: "WEBHOOK", least: 8 },
    { title: "WAITING", least: 7, isNumber: true },
    { title: "OLDEST", least: 20 },
    { title: "GIVEN UP", least: 8, isNumber: true },
    { title: "LAST FAILURE", least: 12 },
  ] as const;
  const rows = webhooks.map(({ webhook, waiting, oldestAt, givenUp, lastFailure }) => {
    const failure = lastFailure === null ? "" : `${timeText(lastFailure.at)} ${lastFailure.problem}`;
    const oldest = oldestAt === null ? "" : timeText(oldestAt);
    return [webhook, String(waiting), oldest, String(givenUp), failure];
  });
  return fittedTable(columns, rows, cells);
}

export function activityTables({ tools, refusals }: Activity, cells: number | undefined): string {
  const number = (title: string) => ({ title, least: title.length, isNumber: true }) as const;
  const columns = ["CREATED", "COMPLETED", "FAILED", "CANCELLED", "RETRIED", "P50", "P95"].map(number);
  const span = (ms: number | null): string => (ms === null ? "" : spanText(ms));
  const rows = tools.map(({ tool, created, completed, failed, cancelled, retried, p50Ms, p95Ms }) => [
    tool,
    ...[created, completed, failed, cancelled, retried].map(String),
    span(p50Ms),
    span(p95Ms),
  ]);
  const refused = refusals.map(({ code, method, count }) => [code, method ?? "", String(count)]);
  const parts = [
    fittedTable([{ title: "TOOL", least: 8 }, ...columns], rows, cells),
    fittedTable(
      [{ title: "REFUSED", least: 8 }, { title: "METHOD", least: 8 }, number("COUNT")],
      refused,
      cells,
    ),
  ];
  return (refusals.length === 0 ? parts.slice(0, 1) : parts).join("\n");
}

export function nodeTable(nodes: readonly NodeSummary[], cells: number | undefined): string {
  const columns = [
    { title: "NODE", least: 8 },
    { title: "HOST", least: 8 },
    { title: "PID", least: 5, isNumber: true },
    { title: "STATE", least: 5 },
    { title: "SLOTS", least: 5 },
    { title: "TASKS", least: 5, isNumber: true },
    { title: "REPORTED", least: 20 },
  ] as const;
  const rows = nodes.map(({ id, host, pid, alive, draining, slots, running, reportedAt }) => [
    id,
    host ?? "(no report)",
    String(pid ?? ""),
    stateOf(alive, draining),
    slots === null ? "" : `${slots.used} of ${slots.limit}`,
    String(running),
    reportedAt === null ? "" : timeText(reportedAt),
  ]);
  return fittedTable(columns, rows, cells);
}

export function sessionTable(sessions: readonly OperatorSession[], cells: number | undefined): string {
  const columns = [
    { title: "SESSION", least: 8 },
    { title: "OPERATOR", least: 8 },
    { title: "ROLE", least: 5 },
    { title: "SINCE", least: 20 },
    { title: "UNTIL", least: 20 },
  ] as const;
  const rows = sessions.map(({ id, actor, role, since, until }) => [
    id,
    actor,
    role,
    timeText(since),
    timeText(until),
  ]);
  return fittedTable(columns, rows, cells);
}

export function callerTable({ callers }: Callers, cells: number | undefined): string {
  const columns = [
    { title: "CALLER", least: 8 },
    { title: "FAILED", least: 6, isNumber: true },
    { title: "TASKS", least: 5, isNumber: true },
    { title: "WORKED", least: 6, isNumber: true },
  ] as const;
  const rows = callers.map(({ principal, failed, tasks, workedMs }) => [
    principal ?? "(anonymous)",
    String(failed),
    String(tasks),
    spanText(workedMs),
  ]);
  return fittedTable(columns, rows, cells);
}

export function latencyTable({ steps }: ToolLatency, cells: number | undefined): string {
  const number = (title: string) => ({ title, least: title.length, isNumber: true }) as const;
  const columns = [
    { title: "STEP", least: 8 },
    { title: "KIND", least: 5 },
    ...["COUNT", "P50", "P95", "MAX"].map(number),
    { title: "SLOWEST TASK", least: shownId },
  ];
  const rows = steps.map(({ name, kind, count, p50Ms, p95Ms, maxMs, taskId }) => [
    name,
    kind,
    String(count),
    ...[p50Ms, p95Ms, maxMs].map(spanText),
    cells === undefined ? taskId : taskId.slice(0, shownId),
  ]);
  return fittedTable(columns, rows, cells);
}

function stateOf(alive: boolean, draining: NodeSummary["draining"]): string {
  if (!alive) return "gone";
  if (draining === null) return "alive";
  return draining.left === 0 ? "empty" : "draining";
}
