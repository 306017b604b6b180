import type { SQLInputValue } from "node:sqlite";
import type { Expiry } from "../../task/expiry.ts";
import type { OutcomeKind } from "../../task/outcome.ts";
import type { GenerationName, Progress, TaskMethod, TaskRecord } from "../../task/record.ts";
import type { TaskState } from "../../task/status.ts";
import { readTask } from "./read-task.ts";
import { flag, integer, integerOrNull, oneOf, text, textOrNull, time, type Row } from "./row.ts";
import { toStored } from "./stored-text.ts";

interface Column {
  readonly name: string;
  /** False for what is written once: leaving it out of updates spares the indexes that hold it. */
  readonly changes: boolean;
  readonly value: (task: TaskRecord) => SQLInputValue;
}

const fixed = (name: string, value: Column["value"]): Column => ({ name, changes: false, value });
const changing = (name: string, value: Column["value"]): Column => ({ name, changes: true, value });
const stored = (value: string | null): string | null => (value === null ? null : toStored(value));

/** The columns of `task`; their only list beside the migrations and `recordOf`. */
const columns: readonly Column[] = [
  fixed("id", (task) => toStored(task.id)),
  fixed("wire_id", (task) => toStored(task.wireId)),
  fixed("generation", (task) => task.generation),
  fixed("scope", (task) => toStored(task.scope)),
  fixed("principal", (task) => stored(task.principal)),
  fixed("method", (task) => task.method),
  fixed("tool", (task) => toStored(task.tool)),
  fixed("idempotency_key", (task) => stored(task.idempotencyKey)),
  fixed("request_hash", (task) => toStored(task.requestHash)),
  fixed("required_scopes", (task) => task.requiredScopes.join(" ")),
  changing("state", (task) => task.state),
  changing("version", (task) => task.version),
  fixed("created_at", (task) => task.createdAt),
  changing("updated_at", (task) => task.updatedAt),
  changing("finished_at", (task) => task.finishedAt),
  changing("expiry_from", (task) => task.expiry.from),
  changing("expiry_ms", (task) => task.expiry.ms),
  fixed("run_until", (task) => task.runUntil),
  changing("sweep_at", (task) => task.sweepAt),
  changing("poll_interval_ms", (task) => task.pollIntervalMs),
  changing("status_message", (task) => stored(task.statusMessage)),
  changing("progress", (task) => (task.progress === null ? null : JSON.stringify(task.progress))),
  changing("open_inputs", (task) => task.openInputs),
  changing("cancel_requested_at", (task) => task.cancelRequestedAt),
  changing("attempt", (task) => task.attempt),
  changing("token", (task) => stored(task.token)),
  changing("started_at", (task) => task.startedAt),
  changing("journalled", (task) => Number(task.journalled)),
  changing("waiting", (task) => Number(task.waiting)),
  changing("crashes", (task) => task.crashes),
  changing("outcome_kind", (task) => task.outcomeKind),
];

const changingColumns = columns.filter(({ changes }) => changes);

export const taskColumns = columns.map(({ name }) => name);
export const changingTaskColumns = changingColumns.map(({ name }) => name);

/** The values for `taskColumns`. */
export function rowOf(task: TaskRecord): SQLInputValue[] {
  return columns.map(({ value }) => value(task));
}

/** The values for `changingTaskColumns`. */
export function changingRowOf(task: TaskRecord): SQLInputValue[] {
  return changingColumns.map(({ value }) => value(task));
}

const generations: Readonly<Record<GenerationName, true>> = {
  "sep-1686": true,
  "2025-11-25": true,
  "2026-07-28": true,
  plain: true,
};
const methods: Readonly<Record<TaskMethod, true>> = {
  "tools/call": true,
  "resources/read": true,
  "prompts/get": true,
  "sampling/createMessage": true,
  "elicitation/create": true,
  other: true,
};
const states: Readonly<Record<TaskState, true>> = {
  queued: true,
  running: true,
  settled: true,
  cancelled: true,
};
const expiryStarts: Readonly<Record<Expiry["from"], true>> = { created: true, terminal: true };

const outcomeKinds: Readonly<Record<OutcomeKind, true>> = { result: true, error_result: true, error: true };

/** Throws `task_unreadable`, and nothing else, for a row that no record was written as. */
export function recordOf(row: Row): TaskRecord {
  return readTask(String(row["id"]), () => decode(row));
}

function decode(row: Row): TaskRecord {
  return {
    id: text(row, "id"),
    wireId: text(row, "wire_id"),
    generation: oneOf(row, "generation", generations),
    scope: text(row, "scope"),
    principal: textOrNull(row, "principal"),
    method: oneOf(row, "method", methods),
    tool: text(row, "tool"),
    idempotencyKey: textOrNull(row, "idempotency_key"),
    requestHash: text(row, "request_hash"),
    requiredScopes: scopesOf(text(row, "required_scopes")),
    state: oneOf(row, "state", states),
    version: integer(row, "version"),
    createdAt: time(row, "created_at"),
    updatedAt: time(row, "updated_at"),
    finishedAt: integerOrNull(row, "finished_at"),
    expiry: { from: oneOf(row, "expiry_from", expiryStarts), ms: integerOrNull(row, "expiry_ms") },
    runUntil: integerOrNull(row, "run_until"),
    sweepAt: integerOrNull(row, "sweep_at"),
    pollIntervalMs: integer(row, "poll_interval_ms"),
    statusMessage: textOrNull(row, "status_message"),
    progress: progressOf(textOrNull(row, "progress")),
    openInputs: integer(row, "open_inputs"),
    cancelRequestedAt: integerOrNull(row, "cancel_requested_at"),
    attempt: integer(row, "attempt"),
    token: textOrNull(row, "token"),
    startedAt: integerOrNull(row, "started_at"),
    journalled: flag(row, "journalled"),
    waiting: flag(row, "waiting"),
    crashes: integer(row, "crashes"),
    outcomeKind: row["outcome_kind"] === null ? null : oneOf(row, "outcome_kind", outcomeKinds),
  };
}

/** No scope has a space in it (RFC 6749, 3.3). */
function scopesOf(joined: string): readonly string[] {
  return joined === "" ? [] : joined.split(" ");
}

function progressOf(json: string | null): Progress | null {
  return json === null ? null : (JSON.parse(json) as Progress);
}
