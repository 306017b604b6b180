import { firstAttempt } from "./attempts.ts";
import type { TaskCommand } from "./command.ts";
import { deletableAt, expiresAt, storableExpiry } from "./expiry.ts";
import type { ParentTask, TaskRecord } from "./record.ts";
import { storable } from "./time.ts";
import { pausing, ready, working } from "./queue.ts";
import { causeOf } from "./cause.ts";
import { type BlockCommands, blockedBy } from "./blocked.ts";
import { isTerminal } from "./outcome.ts";
import { type TaskEvent, transitions } from "./transition.ts";

/**
 * A task id: 12 hexadecimal digits of time, so that new rows are adjacent in the index and ids sort by age, then 128 random bits, so that
 * ids cannot be guessed or enumerated. 34 characters, all URL-safe.
 */
export function taskId(now: number, randomBytes: (size: number) => Uint8Array): string {
  const time = Math.max(0, Math.floor(now)).toString(16).padStart(12, "0");
  return time + Buffer.from(randomBytes(16)).toString("base64url");
}

/**
 * A unique name of 16 characters, the first of them a letter: of an attempt, or of a process. Rows, indexes and the database's log repeat
 * it often enough that its length shows. It has 95 random bits, and need not be impossible to guess.
 */
export function shortName(from: { randomBytes(size: number): Uint8Array }): string {
  const bytes = Buffer.from(from.randomBytes(12));
  bytes.writeUInt8(bytes.readUInt8() % 128);
  return bytes.toString("base64url");
}

/** Whether an id is impossible to guess. */
export function isTaskId(id: string): boolean {
  return /^[\da-f]{12}[\w-]{22}$/.test(id);
}

/** The record that an owner's `create` command makes. */
export function createRecord(
  {
    task,
    token,
    now,
    version,
    forAnyOwner,
    awaited,
    promised,
  }: Omit<TaskCommand<"create">, "type" | "request">,
  owner: string,
  parent: ParentTask | null = null,
): TaskRecord {
  const expiry = storableExpiry(task.expiry);
  const runUntil = task.runUntil === null ? null : storable(task.runUntil);
  return {
    ...task,
    parent,
    expiry,
    runUntil,
    pollIntervalMs: storable(task.pollIntervalMs),
    state: token === null ? "queued" : "running",
    version: 1,
    createdAt: now,
    updatedAt: now,
    finishedAt: null,
    sweepAt: expiresAt(expiry, now, runUntil),
    progress: null,
    logged: 0,
    outputs: 0,
    openInputs: 0,
    childInputs: 0,
    openWaits: 0,
    cancelRequestedAt: null,
    cancelBy: null,
    awaitedBy: awaited === true ? [owner] : [],
    promised: promised === true,
    owner: token === null && forAnyOwner === true ? null : owner,
    attempt: token === null ? 0 : 1,
    attempts: token === null ? [] : firstAttempt(owner, now),
    toolVersion: token === null ? null : (version ?? null),
    failures: 0,
    limited: false,
    token,
    startedAt: token === null ? null : now,
    journalled: false,
    ...(token === null ? ready("new", now) : working),
    crashes: 0,
    outcomeKind: null,
  };
}

/** Whether `create` repeats the call that made `existing` under the same idempotency key. */
export function isSameCall(existing: TaskRecord, { task }: TaskCommand<"create">): boolean {
  const { requestHash, generation } = existing;
  return generation === task.generation && requestHash === task.requestHash;
}

/** The record of a task that ends. */

/** With an outcome. A failure has a cause, whoever ended the task. */
export function settled(task: TaskRecord, command: TaskCommand<"settle" | "fail" | "expire">): TaskRecord {
  const { outcome, statusMessage = null, failure, now } = command;
  const { kind: outcomeKind } = outcome;
  const finished = finish(task, now);
  const visibleUntil = command.type === "expire" ? storable(command.visibleUntil) : 0;
  return {
    ...finished,
    statusMessage,
    outcomeKind,
    // A task that reached the limit on its run, but not its ttl, is kept as long as other finished tasks.
    sweepAt: finished.sweepAt === null ? null : Math.max(finished.sweepAt, visibleUntil),
    ...(outcomeKind !== "result" && { cause: causeOf(task.tool, statusMessage, failure) }),
  };
}

/** With or without an outcome. */
export function finish(task: TaskRecord, now: number): TaskRecord {
  return {
    ...task,
    ...working,
    token: null,
    openInputs: 0,
    childInputs: 0,
    openWaits: 0,
    cancelBy: null,
    finishedAt: now,
    updatedAt: now,
    sweepAt: deletableAt(task, now),
  };
}

/** What it does to a record that a task is blocked, and that it continues. Pure, and used by `decide.ts`. */

/** The task, blocked, and tried again at `until`; `unbegun`: without its attempt. Clients may have seen that it began (S-027). */
export function blockedUntil(
  task: TaskRecord,
  command: BlockCommands["block" | "orphan"] & { readonly now: number; readonly unbegun?: true },
): TaskRecord {
  const { block, until, now, unbegun } = command;
  // The handler may not know yet of a cancel that was requested meanwhile, so it runs again now.
  const pause = task.cancelRequestedAt === null ? pausing(until) : ready("recovered", now);
  const blocked = blockedBy(block, task.blocked, now);
  const updatedAt = task.blocked === undefined ? now : task.updatedAt;
  const held = { ...task, ...pause, token: null, blocked, updatedAt };
  if (unbegun !== true) return held;
  const attempt = task.attempt - 1;
  const attempts = task.attempts.slice(0, -1);
  return { ...held, attempt, attempts, ...(attempt === 0 && { toolVersion: null }) };
}

/** Commands of an attempt that does not continue its task by them, or that a replay repeats before it comes to what blocks the task. */
const provesNothing: ReadonlySet<TaskEvent> = new Set([
  "block",
  "release",
  "update",
  "append",
  "write_piece",
]);

/** A blocked task continues once its attempt has done something that no replay does. */
export function unblockedBy(
  { type, now }: { readonly type: TaskEvent; readonly now: number },
  task: TaskRecord,
): TaskRecord {
  const { blocked, ...others } = task;
  const continues = transitions[type].underToken && !provesNothing.has(type);
  if (blocked === undefined || !(continues || isTerminal(task.state))) return task;
  return { ...others, updatedAt: now };
}
