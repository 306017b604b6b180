/**
 * The table of tasks. Statements search by its columns, so they are in clear, except texts that other people's words may be in. An
 * encrypted store adds a proof that the row is still that of the same caller.
 * - Who changes the principal, the scopes, the ids, the tool or the parent of a row makes it unreadable.
 * - The proof is written once, with the row. Where its key is missing, the record can be listed and ended, but whose it is is not known:
 *   nothing else of the task may be read for a caller.
 */

import { attemptEnds, type AttemptEnd, type TaskAttempt } from "../../task/attempts.ts";
import { waitReasons } from "../../task/journal.ts";
import { blockReasons, type Blocked } from "../../task/blocked.ts";
import type { OutcomeKind, Suspicion, TaskState } from "../../task/outcome.ts";
import {
  generations,
  listedGenerations,
  type Expiry,
  type ParentTask,
  type Progress,
  type QueueLane,
  type Retrieval,
  type TaskRecord,
  taskMethods,
} from "../../task/record.ts";
import { DecryptionError, isSealed } from "../../task/stored-text.ts";
import { type Codec, inClear, type Place, type Row, text, textOrNull, toStored } from "../row.ts";
import {
  aCount,
  aFlag,
  aKeyedHash,
  aName,
  anInteger,
  aText,
  aTime,
  checkedName,
  json,
  once,
  orNone,
  orNull,
  sameAs,
  textOrEmpty,
  withWords,
  words,
  type Convert,
  type Kind,
  type Stored,
} from "./kind.ts";
import { Table } from "./table.ts";

// Conditions of partial indexes, which statements repeat word for word.
export const unfinished = "state IN ('queued', 'running')";
export const finished = "state IN ('settled', 'cancelled')";
export const isReady = "state = 'queued' AND lane IS NOT NULL AND run_after IS NOT NULL";
export const isWaiting = "state = 'queued' AND lane IS NULL AND run_after IS NOT NULL";
export const isBlocked = "state = 'queued' AND blocked IS NOT NULL";
export const isFailed = "cause IS NOT NULL";
/** Only while processes crash there are any. */
export const isTried = "state = 'running' AND crashes > 1";
/** Of a generation whose clients can list tasks. */
export const isListed = `generation IN (${listedGenerations.map((name) => `'${name}'`).join(", ")})`;
/** Postgres keeps few rows of the same time apart by their places. */
const bySweep = { sqlite: "sweep_at, id", postgres: "sweep_at" };
export const isAsking = `${unfinished} AND open_inputs > 0`;

const states: Readonly<Record<TaskState, true>> = {
  queued: true,
  running: true,
  settled: true,
  cancelled: true,
};

const lanes: Readonly<Record<QueueLane, true>> = { new: true, woken: true, recovered: true, suspect: true };

const outcomeKinds: Readonly<Record<OutcomeKind, true>> = { result: true, error_result: true, error: true };

const anExpiry: Kind<Expiry> = {
  type: "text",
  write: ({ from, ms }) => (ms === null ? from : `${from} ${ms}`),
  read: (row, column) => {
    const stored = text(row, column);
    const [from, ms = null] = stored.split(" ");
    const expiry = { from, ms: ms === null ? null : Number(ms) };
    if (isExpiry(expiry)) return expiry;
    throw new Error(`The column ${column.name} contains ${stored}.`);
  },
};

function isExpiry(expiry: { readonly from: unknown; readonly ms: number | null }): expiry is Expiry {
  const { from, ms } = expiry;
  return (from === "created" || from === "terminal") && (ms === null || Number.isSafeInteger(ms));
}

/** A wrong one would show the task to requestors, or end another one. */
function isParent(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { id, key, root, cancelGraceMs }: Partial<Record<keyof ParentTask, unknown>> = value;
  return [id, key, root].every((name) => typeof name === "string") && Number.isSafeInteger(cancelGraceMs);
}

function isRetrieval(value: unknown): boolean {
  const { at, via } = value as Partial<Record<keyof Retrieval, unknown>>;
  return isInteger(at) && typeof via === "string";
}

/** Operators only read it, except for its times. */
function isBlock(value: unknown): boolean {
  const { reason, since, tries } = value as Partial<Record<keyof Blocked, unknown>>;
  return (
    typeof reason === "string" && Object.hasOwn(blockReasons, reason) && isInteger(since) && isInteger(tries)
  );
}

/** What cannot be opened reads as missing, except the reason, which stays as it is stored. */
function blockedWith(blocked: Blocked, convert: Convert): Blocked {
  const { problem, was, is } = blocked;
  return {
    ...blocked,
    problem: convert(problem, 0, "problem") ?? problem,
    was: was === null ? null : convert(was, 0, "was"),
    is: is === null ? null : convert(is, 0, "is"),
  };
}

function isSuspicion(value: unknown): boolean {
  const { shared, since, clearedAt } = value as Partial<Record<keyof Suspicion, unknown>>;
  return isInteger(shared) && [since, clearedAt].every((at) => at === null || isInteger(at));
}

function progressWith({ message, ...numbers }: Progress, convert: Convert): Progress {
  const converted = message === undefined ? null : convert(message);
  return { ...numbers, ...(converted !== null && { message: converted }) };
}

/**
 * JSON, each attempt a list [number, owner, startedAt, endedAt, end, error, stack] without missing members at its end. Member names would
 * double the size of each write.
 */
const someAttempts: Kind<readonly TaskAttempt[]> = {
  type: "text",
  write: (attempts) => (attempts.length === 0 ? "[]" : JSON.stringify(attempts.map(valuesOf))),
  read: (row, column) => {
    const stored = text(row, column);
    if (stored === "[]") return [];
    const lists: unknown = JSON.parse(stored);
    const attempts = Array.isArray(lists) ? lists.map(attemptOf) : [undefined];
    if (attempts.every((attempt) => attempt !== undefined)) return attempts;
    throw new Error(`The column ${column.name} contains ${stored}.`);
  },
};

function valuesOf({ number, owner, startedAt, endedAt, end, error, stack }: TaskAttempt): unknown[] {
  if (stack !== undefined) return [number, owner, startedAt, endedAt, end, error ?? null, stack];
  if (error !== undefined) return [number, owner, startedAt, endedAt, end, error];
  if (end === null && endedAt === null) return [number, owner, startedAt];
  return [number, owner, startedAt, endedAt, end];
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

function isEnd(value: unknown): value is AttemptEnd {
  return attemptEnds.some((end) => end === value);
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function attemptsWith(attempts: readonly TaskAttempt[], convert: Convert): readonly TaskAttempt[] {
  const hasWords = attempts.some(({ error, stack }) => error !== undefined || stack !== undefined);
  return hasWords ? attempts.map((attempt) => attemptWith(attempt, convert)) : attempts;
}

function attemptWith({ error, stack, ...rest }: TaskAttempt, convert: Convert): TaskAttempt {
  const why = error === undefined ? null : convert(error, rest.number, "error");
  const where = stack === undefined ? null : convert(stack, rest.number, "stack");
  return { ...rest, ...(why !== null && { error: why }), ...(where !== null && { stack: where }) };
}

export const taskTable = new Table<TaskRecord>("task", {
  members: {
    id: once(aText),
    wireId: once(sameAs("id")),
    generation: once(aName(generations)),
    scope: once(aText),
    principal: once(orNull(aText)),
    method: once(aName(taskMethods)),
    tool: once(aText),
    parent: once(orNull(json<ParentTask>(isParent))),
    idempotencyKey: orNull(aText),
    /** Encrypted too: otherwise, readers of the store could find out by trial which arguments have it. */
    requestHash: once(withWords(aText, (hash, convert) => convert(hash) ?? hash)),
    requiredScopes: once(words),
    notifies: once(orNone(words)),
    state: checkedName(states),
    version: anInteger,
    createdAt: once(aTime),
    updatedAt: aTime,
    finishedAt: orNull(anInteger),
    expiry: anExpiry,
    runUntil: orNull(anInteger),
    sweepAt: orNull(anInteger),
    pollIntervalMs: anInteger,
    statusMessage: withWords(orNull(aText), (message, convert) => convert(message)),
    progress: withWords(orNull(json<Progress>()), progressWith),
    logged: aCount,
    outputs: aCount,
    openInputs: aCount,
    childInputs: aCount,
    openWaits: aCount,
    cancelRequestedAt: orNull(anInteger),
    cancelBy: orNull(anInteger),
    awaitedBy: words,
    promised: aFlag,
    owner: textOrEmpty,
    lane: orNull(aName(lanes)),
    runAfter: orNull(anInteger),
    attempt: anInteger,
    attempts: withWords(someAttempts, attemptsWith),
    toolVersion: orNull(anInteger),
    failures: aCount,
    limited: aFlag,
    token: orNull(aText),
    startedAt: orNull(anInteger),
    journalled: aFlag,
    waiting: aFlag,
    openArtifacts: orNone(anInteger),
    waitsFor: orNull(aName(waitReasons)),
    crashes: aCount,
    suspicion: orNone(json<Suspicion>(isSuspicion)),
    outcomeKind: orNull(checkedName(outcomeKinds)),
    retrieved: orNone(json<Retrieval>(isRetrieval)),
    cause: orNone(aKeyedHash),
    retriedAs: orNone(aText),
    blocked: withWords(orNone(json<Blocked>(isBlock)), blockedWith),
  },
  search: {
    proof: { type: "text", isNullable: true, write: (record, codec) => codec.proofOf(proofPlace(record)) },
  },
  key: ["id"],
  fillFactor: 60,
  changing: [
    "state",
    "version",
    "updatedAt",
    "finishedAt",
    "sweepAt",
    "owner",
    "lane",
    "runAfter",
    "attempts",
    "token",
    "outcomeKind",
  ],
  indexes: {
    task_wire_id: { on: "generation, scope, wire_id", where: "wire_id IS NOT NULL", isUnique: true },
    task_idempotency: {
      on: "coalesce(principal, ''), idempotency_key",
      where: "idempotency_key IS NOT NULL",
      isUnique: true,
    },
    task_owner: {
      on: { sqlite: "generation, principal, id", postgres: "generation, coalesce(principal, ''), id" },
    },
    /** For lists of tasks of all callers. In Postgres each entry would be written anew with each change of the state. */
    task_generation: { on: { sqlite: "generation, id" } },
    task_listed: { on: { postgres: "generation, id" }, where: isListed },
    task_scope: { on: "generation, scope, id", where: "scope <> ''" },
    task_unfinished: { on: { sqlite: "id" }, where: unfinished },
    /** Postgres would write one of both states again with each change of the state. */
    task_queued: { on: { postgres: "id" }, where: "state = 'queued'" },
    /** SQLite looks through the unfinished ones: another index would cost each of its few writers more. */
    task_running: { on: { postgres: "owner, id" }, where: "state = 'running'" },
    task_asking: { on: "id", where: isAsking },
    task_due: { on: bySweep, where: `${unfinished} AND sweep_at IS NOT NULL` },
    task_deletable: { on: bySweep, where: `${finished} AND sweep_at IS NOT NULL` },
    /** SQLite counts in an index of columns alone. */
    task_ended_as: {
      on: { sqlite: "tool, state, outcome_kind, id", postgres: "tool, coalesce(outcome_kind, state), id" },
      where: finished,
    },
    /** Failures, all and of one cause. */
    task_failed: { on: "id", where: isFailed },
    task_cause: { on: "cause, id", where: isFailed },
    task_blocked: { on: "method, tool, id", where: isBlocked },
    task_tried: { on: "id", where: isTried },
    task_limited: { on: "method, tool", where: "state = 'running' AND limited = 1" },
    task_ready: { on: "owner, method, tool, coalesce(principal, ''), lane, run_after, id", where: isReady },
    task_parked: { on: "method, tool, run_after, id", where: isWaiting },
    /** In SQLite, one seek for each handler takes its place. */
    task_waiting: { on: { postgres: "run_after, id" }, where: isWaiting },
  },
});

/** What lists of causes need of each failed task. */
export const failedTask = taskTable.pick(
  "id",
  "tool",
  "parent",
  "toolVersion",
  "principal",
  "finishedAt",
  "cause",
  "retriedAs",
);

export type FailedTask = Pick<
  TaskRecord,
  "id" | "tool" | "parent" | "toolVersion" | "principal" | "finishedAt" | "cause" | "retriedAs"
>;

/** What statements select for `recordOf`. */
export const recordColumns = [...taskTable.names, "proof"] as const;

/** The same of the table under this name. */
export function recordList(of = "task"): string {
  return recordColumns.map((name) => `${of}.${name}`).join(", ");
}

const proofAt = { place: taskTable.names.length, name: "proof" };

/** The record of a row that begins with `recordColumns`. Words whose key is missing stay as they are stored. Throws if it is damaged. */
export function recordIn(row: Row, codec: Codec): TaskRecord {
  const stored = taskTable.decode(row);
  if (codec === inClear) return stored;
  const isProven = codec.prove(textOrNull(row, proofAt), proofPlace(stored));
  const opened = taskTable.opened(stored.id, stored, codec);
  if (!isProven) unproven.add(opened);
  return opened;
}

/** The record of a row of a list. Throws also if its id is damaged, so that it names no task. */
export function listedRecord(row: Row, codec: Codec): TaskRecord {
  const task = recordIn(row, codec);
  if (toStored(task.id) !== row[0]) throw new Error(`the id ${task.id} is damaged`);
  return task;
}

/** The values for `task.written`. */
export function rowOf(record: TaskRecord, codec: Codec): Stored[] {
  return taskTable.values(record.id, record, codec);
}

const unproven = new WeakSet<TaskRecord>();

/** Throws `DecryptionError` if it is not known whose the record is, which was read from a row. */
export function assertProven(record: TaskRecord): void {
  if (unproven.has(record))
    throw new DecryptionError("it is encrypted with a key that this process does not have");
}

function proofPlace(record: TaskRecord): Place {
  const { id, principal, generation, scope, wireId, method, tool, parent, requiredScopes } = record;
  const above = parent && [parent.id, parent.key, parent.root];
  const fixed = [principal, generation, scope, wireId, method, tool, above, requiredScopes];
  return { table: "task", column: "proof", of: id, key: JSON.stringify(fixed) };
}

/** The record as readers get it: what cannot be decrypted here is replaced by `replacement`. */
export function shownRecord(record: TaskRecord, replacement: string): TaskRecord {
  return taskTable.converted(record, (_, { open }, value) =>
    open(value, (stored) => (isSealed(stored) ? replacement : stored), record),
  );
}
