import type { TaskCommand } from "../task/command.ts";
import { isTerminal } from "../task/outcome.ts";
import { storable } from "../task/time.ts";
import type { Facts } from "./facts.ts";
import type { Plan, TableWrite } from "./table-write.ts";

/** Decides commands about the secrets of the store, and about the keys by which equal calls find one another. */

export function planSecret(command: TaskCommand<"keep_secret" | "replace_secret">, { secret }: Facts): Plan {
  const { name, value } = command;
  if (command.type === "keep_secret") {
    const writes: TableWrite[] =
      secret === undefined && value !== null ? [{ do: "keep_secret", name, value }] : [];
    return { result: { ok: true, value: secret ?? value }, writes, changes: [] };
  }
  const replaced = secret === command.before;
  const writes: TableWrite[] = replaced ? [{ do: "replace_secret", name, value }] : [];
  return { result: { ok: true, replaced }, writes, changes: [] };
}

/** For clients that know its id, the finished task does not change; callers that wait with the same call are notified. */
export function releaseKey({ id, deleteBy }: TaskCommand<"release_key">, { task: before }: Facts): Plan {
  if (before === undefined) return refused("unknown");
  if (!isTerminal(before.state)) return refused("state");
  const until = deleteBy === undefined || before.promised ? Infinity : storable(deleteBy);
  const first = Math.min(before.sweepAt ?? Infinity, until);
  const sweepAt = first === Infinity ? null : first;
  const version = before.version + 1;
  const task = { ...before, idempotencyKey: null, awaitedBy: [], sweepAt, version };
  return {
    result: { ok: true },
    writes: [{ do: "save", before, task, journal: [], outcome: null }],
    changes: [{ id, version }],
  };
}

/** A change like any other, so that the processes whose callers wait for the task read its key again. */
export function rekey({ before: key, key: other }: TaskCommand<"rekey">, { task: before }: Facts): Plan {
  if (before === undefined) return refused("unknown");
  if (before.idempotencyKey !== key) return refused("state");
  const task = { ...before, idempotencyKey: other, version: before.version + 1 };
  const { id, version } = task;
  return {
    result: { ok: true, task },
    writes: [{ do: "save", before, task, journal: [], outcome: null }],
    changes: [{ id, version }],
  };
}

function refused(reason: "unknown" | "state"): Plan {
  return { result: { ok: false, reason }, writes: [], changes: [] };
}
