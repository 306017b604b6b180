import type { TaskCommand } from "../task/command.ts";
import { isUnreadable } from "../task/fault.ts";
import type { JournalEntry } from "../task/journal.ts";
import type { TaskRecord } from "../task/record.ts";
import { storable } from "../task/time.ts";
import { factsFor, type Facts, type FactsQuery } from "./facts.ts";
import { planFor } from "./plan.ts";
import type { Plan, TaskTables } from "./table-write.ts";
import type { Relatives } from "./relatives.ts";

/** The effect of one command. Tell others of its changes only after the commit. */
export type Applied = Pick<Plan, "result" | "changes">;

/** Applies one command of an owner to the tables of a synchronous store. The caller owns the transaction. */
export function applyCommand(tables: TaskTables, owner: string, given: TaskCommand): Applied {
  const command = { ...given, now: storable(given.now) };
  const { result, changes, writes } = planFor(command, readFacts(tables, owner, factsFor(command)));
  for (const write of writes) {
    if (!tables.write(write)) return { result: { ok: false, reason: "taken" }, changes: [] };
  }
  return { result, changes };
}

function readFacts(tables: TaskTables, owner: string, query: FactsQuery): Facts {
  const { task, sameKey, usage } = query;
  // Most commands by far are about one task.
  if (task !== undefined) return { owner, ...taskFacts(tables, owner, task) };
  return {
    owner,
    entries: noEntries,
    ...(sameKey && { sameKey: tables.taskByIdempotencyKey(sameKey.principal, sameKey.key) }),
    ...(usage && { usage: usageFacts(tables, usage.principal) }),
    ...tables.others(query, owner),
  };
}

const noEntries: Facts["entries"] = new Map();

function taskFacts(
  tables: TaskTables,
  owner: string,
  { id, keys, served, callers, holder, parents, children, below, event }: NonNullable<FactsQuery["task"]>,
): Omit<Facts, "owner"> {
  const task = tables.task(id);
  const entries = new Map<string, JournalEntry>();
  if (task !== undefined) {
    for (const key of keys) {
      const entry = tables.entry(id, key);
      if (entry !== undefined) entries.set(key, entry);
    }
  }
  return {
    task,
    entries,
    held: holder && task?.state === "running" && isHeld(tables, owner, task),
    served: served && task !== undefined && tables.isServed(task),
    ...(task !== undefined &&
      (parents || children) && { relatives: relativesOf(tables, task, parents, children) }),
    ...(below && { below: tables.endedBelow([id]) }),
    ...(task !== undefined && event !== undefined && { event: tables.event(id, event) }),
    ...(callers && { awaitedBy: task?.awaitedBy.filter((of) => of !== owner && tables.lives(of)) ?? [] }),
  };
}

/** Reads nothing for a task without relatives, like most. */
function relativesOf(
  tables: TaskTables,
  task: TaskRecord,
  parents: boolean,
  children: boolean,
): Relatives | undefined {
  const above = parents ? task.parent : null;
  const hasChildren = children && task.openWaits > 0;
  if (above === null && !hasChildren) return undefined;
  return {
    ...(above !== null && {
      root: readable(() => tables.task(above.root)),
      parent: readable(() => tables.task(above.id)),
      call: readable(() => tables.entry(above.id, above.key)),
    }),
    children: hasChildren ? tables.children(task.id) : [],
  };
}

/** A task must end even if another one is damaged. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

/** Whether the owner of its attempt lives. The owner that asks does. */
function isHeld(tables: TaskTables, by: string, { owner }: TaskRecord): boolean {
  return owner !== null && (owner === by || tables.lives(owner));
}

function usageFacts(tables: TaskTables, principal: string | null): NonNullable<Facts["usage"]> {
  return { total: tables.usage(), ofPrincipal: principal === null ? null : tables.usage(principal) };
}
