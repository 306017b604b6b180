import type { SQLInputValue } from "node:sqlite";
import {
  generations,
  type Expiry,
  type ParentTask,
  type Progress,
  type QueueLane,
  type Retrieval,
  type TaskRecord,
  taskMethods,
} from "../../task/record.ts";
import type { OutcomeKind, TaskState } from "../../task/outcome.ts";
import type { Codec } from "../codec.ts";
import { openedRecord, proofOf, sealedRecord } from "../record-words.ts";
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

interface TaskColumn<Name extends string> {
  readonly name: Name;
  readonly value: (task: TaskRecord) => SQLInputValue;
  /** Whether it may differ, because its member does; left out for columns that are written once. */
  readonly differs?: (before: TaskRecord, after: TaskRecord) => boolean;
}

function fixed<const N extends string>(name: N, value: (task: TaskRecord) => SQLInputValue): TaskColumn<N> {
  return { name, value };
}

/** The column of a member. Members that did not change are the same values, also lists and objects. */
function changing<const N extends string, T>(
  name: N,
  member: (task: TaskRecord) => T,
  encode: (value: T) => SQLInputValue,
): TaskColumn<N> {
  return {
    name,
    value: (task) => encode(member(task)),
    differs: (before, after) => member(before) !== member(after),
  };
}

const as = <T extends SQLInputValue>(value: T): T => value;

const stored = (value: string | null): string | null => (value === null ? null : toStored(value));

/** The columns of `task`, listed only here, in the migrations and in `recordOf`. */
const columns = [
  fixed("id", (task) => toStored(task.id)),
  fixed("wire_id", ({ id, wireId }) => (wireId === id ? null : toStored(wireId))),
  fixed("generation", (task) => task.generation),
  fixed("scope", (task) => toStored(task.scope)),
  fixed("principal", (task) => stored(task.principal)),
  fixed("method", (task) => task.method),
  fixed("tool", (task) => toStored(task.tool)),
  fixed("parent", (task) => (task.parent === null ? null : toStored(JSON.stringify(task.parent)))),
  changing("idempotency_key", (task) => task.idempotencyKey, stored),
  fixed("request_hash", (task) => toStored(task.requestHash)),
  fixed("required_scopes", (task) => task.requiredScopes.join(" ")),
  fixed("notifies", (task) => (task.notifies ?? []).join(" ")),
  changing("state", (task) => task.state, as),
  changing("version", (task) => task.version, as),
  fixed("created_at", (task) => task.createdAt),
  changing("updated_at", (task) => task.updatedAt, as),
  changing("finished_at", (task) => task.finishedAt, as),
  changing(
    "expiry_from",
    (task) => task.expiry,
    ({ from }) => from,
  ),
  changing(
    "expiry_ms",
    (task) => task.expiry,
    ({ ms }) => ms,
  ),
  changing("run_until", (task) => task.runUntil, as),
  changing("sweep_at", (task) => task.sweepAt, as),
  changing("poll_interval_ms", (task) => task.pollIntervalMs, as),
  changing("status_message", (task) => task.statusMessage, stored),
  changing(
    "progress",
    (task) => task.progress,
    (value) => (value === null ? null : JSON.stringify(value)),
  ),
  changing("logged", (task) => task.logged, as),
  changing("outputs", (task) => task.outputs, as),
  changing("open_inputs", (task) => task.openInputs, as),
  changing("child_inputs", (task) => task.childInputs, as),
  changing("open_waits", (task) => task.openWaits, as),
  changing("cancel_requested_at", (task) => task.cancelRequestedAt, as),
  changing("cancel_by", (task) => task.cancelBy, as),
  changing(
    "awaited_by",
    (task) => task.awaitedBy,
    (value) => value.join(" "),
  ),
  changing("promised", (task) => task.promised, Number),
  changing("owner", (task) => task.owner, stored),
  changing("lane", (task) => task.lane, as),
  changing("run_after", (task) => task.runAfter, as),
  changing("attempt", (task) => task.attempt, as),
  changing("attempts", (task) => task.attempts, attemptsText),
  changing("tool_version", (task) => task.toolVersion, as),
  changing("failures", (task) => task.failures, as),
  changing("limited", (task) => task.limited, Number),
  changing("token", (task) => task.token, stored),
  changing("started_at", (task) => task.startedAt, as),
  changing("journalled", (task) => task.journalled, Number),
  changing("waiting", (task) => task.waiting, Number),
  changing("crashes", (task) => task.crashes, as),
  changing("outcome_kind", (task) => task.outcomeKind, as),
  changing("retrieved", (task) => task.retrieved, retrievedText),
] as const;

export const taskColumns = [...columns.map(({ name }) => name), "proof"] as const;

/** The values for `taskColumns`. */
export function rowOf(task: TaskRecord, codec: Codec): SQLInputValue[] {
  const sealed = sealedRecord(task, codec);
  return [...columns.map(({ value }) => value(sealed)), proofOf(task, codec)];
}

/** What an update writes. */
export interface RowChanges {
  readonly names: readonly string[];
  readonly values: readonly SQLInputValue[];
}

/** The columns in which two records of a task differ. Others are left out of an update, which spares their indexes. */
export function changesOf(before: TaskRecord, after: TaskRecord, codec: Codec): RowChanges {
  const changed = (columns as readonly TaskColumn<string>[]).filter(
    ({ differs }) => differs?.(before, after) === true,
  );
  const sealed = changed.some(({ name }) => withWords.has(name)) ? sealedRecord(after, codec) : after;
  return { names: changed.map(({ name }) => name), values: changed.map(({ value }) => value(sealed)) };
}

const withWords: ReadonlySet<string> = new Set(["status_message", "progress", "attempts"]);

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
export function recordOf(row: Row, codec: Codec): TaskRecord {
  return readTask(String(row[at.id.place]), () =>
    openedRecord({ task: decode(row), proof: textOrNull(row, at.proof) }, codec),
  );
}

function decode(row: Row): TaskRecord {
  return {
    id: text(row, at.id),
    wireId: textOrNull(row, at.wire_id) ?? text(row, at.id),
    generation: oneOf(row, at.generation, generations),
    scope: text(row, at.scope),
    principal: textOrNull(row, at.principal),
    method: oneOf(row, at.method, taskMethods),
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
