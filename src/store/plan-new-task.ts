import type { Refusal, TaskCommand } from "../task/command.ts";
import { createRecord, isSameCall } from "../task/record-changes.ts";
import type { JournalEntry } from "../task/journal.ts";
import { isTerminal } from "../task/outcome.ts";
import { hasRoom } from "../task/queue.ts";
import type { TaskRecord, TaskRequest } from "../task/record.ts";
import type { Facts } from "./facts.ts";
import { deliveriesForNew } from "./plan-outbox.ts";
import type { Plan, TableWrite } from "./table-write.ts";

/** Decides whether a task is made. The finished task that it runs again, if any, says so in the same write. */
export function planNewTask(
  command: TaskCommand<"create">,
  { sameKey, usage, owner, task: old }: Facts,
): Plan {
  const retried = command.retryOf && retryOf(old, command);
  if (typeof retried === "string") return refused(retried);
  if (sameKey !== undefined) {
    if (!isSameCall(sameKey, command)) return refused("conflict");
    return { result: { ok: true, created: false, task: sameKey }, writes: [], changes: [] };
  }
  if (!fits(command, usage)) return refused("quota");
  const { journal = [], request } = command;
  const task = beginningWith(journal, createRecord(command, owner));
  const saves = retried === undefined ? [] : [retried];
  return {
    result: { ok: true, created: true, task },
    writes: [...inserting(task, request, journal), ...saves, ...deliveriesForNew(task)],
    changes: [task, ...saves.map((save) => save.task)].map(({ id, version }) => ({ id, version })),
  };
}

/** The record of a task that begins with these entries: a lost attempt can be resumed. */
export function beginningWith(journal: readonly JournalEntry[], task: TaskRecord): TaskRecord {
  return journal.length === 0 ? task : { ...task, journalled: true };
}

/** Adds a task that begins with these entries. The insert comes first, since it can fail. */
export function inserting(
  task: TaskRecord,
  request: TaskRequest,
  journal: readonly JournalEntry[],
): readonly TableWrite[] {
  const insert = { do: "insert", task, request } as const;
  return journal.length === 0 ? [insert] : [insert, saving(task, task, journal)];
}

function retryOf(old: TaskRecord | undefined, { task, retryOf: how }: TaskCommand<"create">): Save | Refusal {
  if (old === undefined) return "unknown";
  if (!isTerminal(old.state)) return "state";
  if ((old.retriedAs ?? null) !== how?.known) return "retried";
  return saving(old, { ...old, retriedAs: task.id, version: old.version + 1 });
}

type Save = Extract<TableWrite, { readonly do: "save" }>;

function saving(before: TaskRecord, task: TaskRecord, journal: readonly JournalEntry[] = []): Save {
  return { do: "save", before, task, journal, outcome: null };
}

function fits({ quota }: TaskCommand<"create">, usage: Facts["usage"]): boolean {
  if (quota === undefined || usage === undefined) return true;
  const { total, ofPrincipal } = usage;
  return hasRoom(total, quota.total) && (ofPrincipal === null || hasRoom(ofPrincipal, quota.perPrincipal));
}

function refused(reason: Refusal): Plan {
  return { result: { ok: false, reason }, writes: [], changes: [] };
}
