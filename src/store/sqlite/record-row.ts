import type { SQLInputValue } from "node:sqlite";
import {
  generations,
  type Expiry,
  type ParentTask,
  type Progress,
  type QueueLane,
  type Retrieval,
  type TaskRecord,
} from "../../task/record.ts";
import type { OutcomeKind, TaskState } from "../../task/outcome.ts";
import { methods } from "../handler-row.ts";
import { readTask } from "./read-task.ts";
import {
  columnsOf,
  flag,
  integer,
  integerOrNull,
  isNull,
  oneOf,
  text,
  textOrNull,
  time,
  type Row,
} from "../row.ts";
import { toStored } from "../stored-text.ts";
import type { AttemptEnd, TaskAttempt } from "../../task/attempts.ts";

type ValueOf = (task: TaskRecord) => SQLInputValue;

interface TaskColumn<Name extends string> {
  readonly name: Name;
  /** False for columns that are written once: leaving them out of updates spares their indexes. */
  readonly changes: boolean;
  readonly value: ValueOf;
}

function fixed<const N extends string>(name: N, value: ValueOf): TaskColumn<N> {
  return { name, changes: false, value };
}

function changing<const N extends string>(name: N, value: ValueOf): TaskColumn<N> {
  return { name, changes: true, value };
}

const stored = (value: string | null): string | null => (value === null ? null : toStored(value));

/** The columns of `task`, listed only here, in the migrations and in `recordOf`. */
const columns = [
  fixed("id", (task) => toStored(task.id)),
  fixed("wire_id", (task) => toStored(task.wireId)),
  fixed("generation", (task) => task.generation),
  fixed("scope", (task) => toStored(task.scope)),
  fixed("principal", (task) => stored(task.principal)),
  fixed("method", (task) => task.method),
  fixed("tool", (task) => toStored(task.tool)),
  fixed("parent", (task) => (task.parent === null ? null : toStored(JSON.stringify(task.parent)))),
  fixed("idempotency_key", (task) => stored(task.idempotencyKey)),
  fixed("request_hash", (task) => toStored(task.requestHash)),
  fixed("required_scopes", (task) => task.requiredScopes.join(" ")),
  fixed("notifies", (task) => (task.notifies ?? []).join(" ")),
  changing("state", (task) => task.state),
  changing("version", (task) => task.version),
  fixed("created_at", (task) => task.createdAt),
  changing("updated_at", (task) => task.updatedAt),
  changing("finished_at", (task) => task.finishedAt),
  changing("expiry_from", (task) => task.expiry.from),
  changing("expiry_ms", (task) => task.expiry.ms),
  changing("run_until", (task) => task.runUntil),
  changing("sweep_at", (task) => task.sweepAt),
  changing("poll_interval_ms", (task) => task.pollIntervalMs),
  changing("status_message", (task) => stored(task.statusMessage)),
  changing("progress", (task) => (task.progress === null ? null : JSON.stringify(task.progress))),
  changing("logged", (task) => task.logged),
  changing("outputs", (task) => task.outputs),
  changing("open_inputs", (task) => task.openInputs),
  changing("child_inputs", (task) => task.childInputs),
  changing("open_waits", (task) => task.openWaits),
  changing("cancel_requested_at", (task) => task.cancelRequestedAt),
  changing("cancel_by", (task) => task.cancelBy),
  changing("awaited_by", (task) => task.awaitedBy.join(" ")),
  changing("promised", (task) => Number(task.promised)),
  changing("owner", (task) => stored(task.owner)),
  changing("lane", (task) => task.lane),
  changing("run_after", (task) => task.runAfter),
  changing("attempt", (task) => task.attempt),
  changing("attempts", (task) => attemptsText(task.attempts)),
  changing("tool_version", (task) => task.toolVersion),
  changing("failures", (task) => task.failures),
  changing("limited", (task) => Number(task.limited)),
  changing("token", (task) => stored(task.token)),
  changing("started_at", (task) => task.startedAt),
  changing("journalled", (task) => Number(task.journalled)),
  changing("waiting", (task) => Number(task.waiting)),
  changing("crashes", (task) => task.crashes),
  changing("outcome_kind", (task) => task.outcomeKind),
  changing("retrieved", (task) => retrievedText(task.retrieved)),
] as const;

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

const states: Readonly<Record<TaskState, true>> = {
  queued: true,
  running: true,
  settled: true,
  cancelled: true,
};

const expiryStarts: Readonly<Record<Expiry["from"], true>> = { created: true, terminal: true };

const lanes: Readonly<Record<QueueLane, true>> = { new: true, woken: true, recovered: true };

const outcomeKinds: Readonly<Record<OutcomeKind, true>> = { result: true, error_result: true, error: true };

const at = columnsOf(taskColumns);

/** Throws `task_unreadable`, and nothing else, if a row of `taskColumns` is no valid record. */
export function recordOf(row: Row): TaskRecord {
  return readTask(String(row[at.id.place]), () => decode(row));
}

function decode(row: Row): TaskRecord {
  return {
    id: text(row, at.id),
    wireId: text(row, at.wire_id),
    generation: oneOf(row, at.generation, generations),
    scope: text(row, at.scope),
    principal: textOrNull(row, at.principal),
    method: oneOf(row, at.method, methods),
    tool: text(row, at.tool),
    parent: parentOf(textOrNull(row, at.parent)),
    idempotencyKey: textOrNull(row, at.idempotency_key),
    requestHash: text(row, at.request_hash),
    requiredScopes: words(text(row, at.required_scopes)),
    state: oneOf(row, at.state, states),
    version: integer(row, at.version),
    createdAt: time(row, at.created_at),
    updatedAt: time(row, at.updated_at),
    finishedAt: integerOrNull(row, at.finished_at),
    expiry: { from: oneOf(row, at.expiry_from, expiryStarts), ms: integerOrNull(row, at.expiry_ms) },
    runUntil: integerOrNull(row, at.run_until),
    sweepAt: integerOrNull(row, at.sweep_at),
    pollIntervalMs: integer(row, at.poll_interval_ms),
    statusMessage: textOrNull(row, at.status_message),
    progress: progressOf(textOrNull(row, at.progress)),
    logged: integer(row, at.logged),
    outputs: integer(row, at.outputs),
    openInputs: integer(row, at.open_inputs),
    childInputs: integer(row, at.child_inputs),
    openWaits: integer(row, at.open_waits),
    cancelRequestedAt: integerOrNull(row, at.cancel_requested_at),
    cancelBy: integerOrNull(row, at.cancel_by),
    awaitedBy: words(text(row, at.awaited_by)),
    promised: flag(row, at.promised),
    owner: textOrNull(row, at.owner),
    lane: isNull(row, at.lane) ? null : oneOf(row, at.lane, lanes),
    runAfter: integerOrNull(row, at.run_after),
    attempt: integer(row, at.attempt),
    attempts: attemptsOf(text(row, at.attempts)),
    toolVersion: integerOrNull(row, at.tool_version),
    failures: integer(row, at.failures),
    limited: flag(row, at.limited),
    token: textOrNull(row, at.token),
    startedAt: integerOrNull(row, at.started_at),
    journalled: flag(row, at.journalled),
    waiting: flag(row, at.waiting),
    crashes: integer(row, at.crashes),
    ...notifiesOf(text(row, at.notifies)),
    outcomeKind: isNull(row, at.outcome_kind) ? null : oneOf(row, at.outcome_kind, outcomeKinds),
    ...retrievedOf(textOrNull(row, at.retrieved)),
  };
}

/** No scope (RFC 6749, 3.3), owner's id or webhook name contains a space. */
export function words(joined: string): readonly string[] {
  return joined === "" ? [] : joined.split(" ");
}

function notifiesOf(joined: string): Pick<TaskRecord, "notifies"> {
  return joined === "" ? noHooks : { notifies: words(joined) };
}

const noHooks = {};

function retrievedText(retrieved: Retrieval | undefined): string | null {
  return retrieved === undefined ? null : toStored(JSON.stringify(retrieved));
}

function retrievedOf(json: string | null): Pick<TaskRecord, "retrieved"> {
  if (json === null) return notRetrieved;
  const retrieved = JSON.parse(json) as Retrieval;
  if (isInteger(retrieved.at) && typeof retrieved.via === "string") return { retrieved };
  throw new Error(`The column retrieved contains ${json}.`);
}

const notRetrieved = {};

function parentOf(json: string | null): ParentTask | null {
  if (json === null) return null;
  const parent: unknown = JSON.parse(json);
  if (isParent(parent)) return parent;
  throw new Error(`The column parent contains ${json}.`);
}

/** A wrong one would show the task to requestors, or end another one. */
function isParent(value: unknown): value is ParentTask {
  if (typeof value !== "object" || value === null) return false;
  const { id, key, root, cancelGraceMs }: Partial<Record<keyof ParentTask, unknown>> = value;
  return [id, key, root].every((name) => typeof name === "string") && Number.isSafeInteger(cancelGraceMs);
}

function progressOf(json: string | null): Progress | null {
  return json === null ? null : (JSON.parse(json) as Progress);
}

// The attempts of a task as the text of a column: JSON, each attempt a list [number, owner, startedAt, endedAt, end, error, stack] without
// missing members at its end. Member names would double the size of each write.

export function attemptsText(attempts: readonly TaskAttempt[]): string {
  return attempts.length === 0 ? "[]" : JSON.stringify(attempts.map(valuesOf));
}

function valuesOf({ number, owner, startedAt, endedAt, end, error, stack }: TaskAttempt): unknown[] {
  if (stack !== undefined) return [number, owner, startedAt, endedAt, end, error ?? null, stack];
  if (error !== undefined) return [number, owner, startedAt, endedAt, end, error];
  if (end === null && endedAt === null) return [number, owner, startedAt];
  return [number, owner, startedAt, endedAt, end];
}

/** Throws if the text is no such list. */
export function attemptsOf(json: string): readonly TaskAttempt[] {
  if (json === "[]") return [];
  const lists: unknown = JSON.parse(json);
  if (!Array.isArray(lists)) return fail(json);
  return lists.map((values: unknown) => attemptOf(values) ?? fail(json));
}

function attemptOf(values: unknown): TaskAttempt | undefined {
  if (!Array.isArray(values)) return undefined;
  const members: readonly unknown[] = values;
  const [number, owner, startedAt, endedAt = null, end = null, error = null, stack] = members;
  if (!isInteger(number) || typeof owner !== "string" || !isInteger(startedAt)) return undefined;
  if ((endedAt !== null && !isInteger(endedAt)) || (end !== null && !isEnd(end))) return undefined;
  const attempt = { number, owner, startedAt, endedAt, end };
  if (error === null && stack === undefined) return attempt;
  if ((error !== null && typeof error !== "string") || (stack !== undefined && typeof stack !== "string"))
    return undefined;
  return { ...attempt, ...(error !== null && { error }), ...(stack !== undefined && { stack }) };
}

const ends: Readonly<Record<AttemptEnd, true>> = {
  settled: true,
  failed: true,
  cancelled: true,
  expired: true,
  parked: true,
  released: true,
  retried: true,
  lost: true,
};

function isEnd(value: unknown): value is AttemptEnd {
  return typeof value === "string" && Object.hasOwn(ends, value);
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function fail(json: string): never {
  throw new Error(`The column attempts contains ${json}.`);
}
