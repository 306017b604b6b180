import { firstAttempt } from "./attempts.ts";
import type { TaskCommand } from "./command.ts";
import { expiresAt, storableExpiry } from "./expiry.ts";
import type { ParentTask, TaskRecord } from "./record.ts";
import { storable } from "./time.ts";
import { ready, working } from "./queue.ts";

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
