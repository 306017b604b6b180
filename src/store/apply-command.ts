import type { CommandResult, TaskCommand, UnreadableTask } from "../task/command.ts";
import { createRecord, isSameCall } from "../task/create-record.ts";
import { decide, type TaskChangeCommand } from "../task/decide.ts";
import { isUnreadable } from "../task/fault.ts";
import { hasRoom } from "../task/quota.ts";
import { isTerminal } from "../task/status.ts";
import { storable } from "../task/time.ts";
import type { TaskChange } from "./store.ts";
import type { TaskTables } from "./task-tables.ts";

/** What one command did; to be told to anybody only after its commit. */
export interface Applied {
  readonly result: CommandResult;
  readonly changes: readonly TaskChange[];
}

/** Applies one command to the tables; the caller owns the transaction around it. */
export function applyCommand(tables: TaskTables, given: TaskCommand): Applied {
  const command = { ...given, now: storable(given.now) };
  switch (command.type) {
    case "create":
      return create(tables, command);
    case "recover":
      return recover(tables, command);
    case "delete_expired":
      return deleteExpired(tables, command);
    case "release_key":
      return releaseKey(tables, command);
    case "delete":
      return deleteFinished(tables, command);
    case "keep_secret":
      return { result: { ok: true, value: tables.keepSecret(command.name, command.value) }, changes: [] };
    default:
      return change(tables, command);
  }
}

function create(tables: TaskTables, command: TaskCommand<"create">): Applied {
  const { idempotencyKey, principal } = command.task;
  const existing =
    idempotencyKey === null ? undefined : tables.taskByIdempotencyKey(principal, idempotencyKey);
  if (existing !== undefined) {
    return isSameCall(existing, command)
      ? { result: { ok: true, created: false, task: existing }, changes: [] }
      : { result: { ok: false, reason: "conflict" }, changes: [] };
  }
  if (!fits(tables, command)) return { result: { ok: false, reason: "quota" }, changes: [] };
  const task = createRecord(command);
  if (!tables.insert(task, command.request)) {
    return { result: { ok: false, reason: "taken" }, changes: [] };
  }
  return { result: { ok: true, created: true, task }, changes: [{ id: task.id, version: task.version }] };
}

function fits(tables: TaskTables, { task, quota }: TaskCommand<"create">): boolean {
  if (quota === undefined) return true;
  if (!hasRoom(tables.usage(), quota.total)) return false;
  return task.principal === null || hasRoom(tables.usage(task.principal), quota.perPrincipal);
}

function change(tables: TaskTables, command: TaskChangeCommand): Applied {
  const { id } = command;
  const before = tables.task(id);
  const decision = decide(before, command, (key) => tables.entry(id, key));
  if (!decision.ok) return { result: decision, changes: [] };
  const { task, journal, outcome } = decision;
  const changed = task.version !== before?.version;
  if (changed) tables.save(task, journal, outcome);
  const changes: TaskChange[] = changed ? [{ id, version: task.version }] : [];
  if (command.type !== "answer_inputs") return { result: { ok: true, task }, changes };
  const accepted = journal.map(({ key }) => key);
  return { result: { ok: true, task, accepted }, changes };
}

function recover(tables: TaskTables, { now, after, limit }: TaskCommand<"recover">): Applied {
  const changes: TaskChange[] = [];
  const unreadable: UnreadableTask[] = [];
  const page = tables.recoverable(after, limit, now);
  for (const id of page) {
    try {
      // On one that is queued it is refused.
      const recovered = change(tables, { type: "recover", id, now });
      changes.push(...recovered.changes);
      if (isUnknown(recovered.result))
        unreadable.push({ id, problem: `The id ${id} of a task cannot be read.` });
    } catch (error) {
      // Only of the record itself: what the disk or the memory fails with concerns all of them.
      if (!isUnreadable(error)) throw error;
      unreadable.push({ id, problem: error.message });
    }
  }
  const next = page.length < limit ? null : (page.at(-1) ?? null);
  return { result: { ok: true, recovered: changes.length, unreadable, next }, changes };
}

function isUnknown(result: CommandResult): boolean {
  return !result.ok && result.reason === "unknown";
}

function deleteExpired(tables: TaskTables, { now, limit }: TaskCommand<"delete_expired">): Applied {
  const deleted = tables.deletable(now, limit);
  for (const id of deleted) tables.remove(id);
  return { result: { ok: true, deleted }, changes: deleted.map((id) => ({ id, version: null })) };
}

function deleteFinished(tables: TaskTables, { id }: TaskCommand<"delete">): Applied {
  const task = tables.task(id);
  if (task === undefined) return { result: { ok: false, reason: "unknown" }, changes: [] };
  if (!isTerminal(task.state)) return { result: { ok: false, reason: "state" }, changes: [] };
  tables.remove(id);
  return { result: { ok: true }, changes: [{ id, version: null }] };
}

/** No change that anybody could see: a finished task stays as it is. */
function releaseKey(tables: TaskTables, { id, deleteBy }: TaskCommand<"release_key">): Applied {
  const task = tables.task(id);
  if (task === undefined) return { result: { ok: false, reason: "unknown" }, changes: [] };
  if (!isTerminal(task.state)) return { result: { ok: false, reason: "state" }, changes: [] };
  tables.releaseKey(id, deleteBy === undefined ? null : storable(deleteBy));
  return { result: { ok: true }, changes: [] };
}
