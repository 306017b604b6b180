import type { CommandResult, Refusal, TaskCommand } from "../task/command.ts";
import { isTerminal } from "../task/outcome.ts";
import { HoldfastError } from "../task/fault.ts";
import { mostNameBytes } from "../task/stored-text.ts";
import { toStored } from "./row.ts";
import { storable } from "../task/time.ts";
import type { Facts } from "./facts.ts";
import { changed, type Plan, refused, type TableWrite } from "./table-write.ts";
import {
  deliveriesOf,
  deliveriesOfDeleted,
  type Delivery,
  type DeliveryCommands,
  deliveryOfStatus,
} from "../task/delivery.ts";
import type { Decision } from "../task/decide.ts";
import type { TaskRecord, TaskRequest } from "../task/record.ts";
import type { OutboxWrite } from "./outbox.ts";
import { createRecord, isSameCall } from "../task/record-changes.ts";
import type { JournalEntry } from "../task/journal.ts";
import { hasRoom } from "../task/queue.ts";

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
export function releaseKey({ deleteBy }: TaskCommand<"release_key">, { task: before }: Facts): Plan {
  if (before === undefined) return refused("unknown");
  if (!isTerminal(before.state)) return refused("state");
  const until = deleteBy === undefined || before.promised ? Infinity : storable(deleteBy);
  const first = Math.min(before.sweepAt ?? Infinity, until);
  const sweepAt = first === Infinity ? null : first;
  return {
    ...changed(before, { ...before, idempotencyKey: null, awaitedBy: [], sweepAt }),
    result: { ok: true },
  };
}

/** A change like any other, so that the processes whose callers wait for the task read its key again. */
export function rekey({ before: key, key: other }: TaskCommand<"rekey">, { task: before }: Facts): Plan {
  if (before === undefined) return refused("unknown");
  if (before.idempotencyKey !== key) return refused("state");
  return changed(before, { ...before, idempotencyKey: other });
}

type OutboxCommand = TaskCommand<keyof DeliveryCommands>;

/** Decides changes of deliveries. They change no task. */
export function planOutbox(command: OutboxCommand, { deliveries = [], excess = [], task }: Facts): Plan {
  switch (command.type) {
    case "claim_deliveries": {
      const until = storable(command.until);
      const taken = deliveries.map((each) => ({ ...each, tries: each.tries + 1, dueAt: until }));
      const writes = taken.map(({ seq }) => ({ do: "claim_delivery", seq, until }) as const);
      return planned({ ok: true, deliveries: taken }, writes);
    }
    case "end_delivery":
      return planned({ ok: true }, [{ do: "end_delivery", seq: command.seq, tries: command.tries }]);
    case "retry_delivery": {
      const { seq, tries, problem, now, unsent = false } = command;
      const at = command.at === null ? null : storable(command.at);
      const failure = problem === null ? undefined : { at: now, problem };
      return planned({ ok: true }, [{ do: "retry_delivery", seq, tries, at, unsent, failure }]);
    }
    case "resend_deliveries": {
      const { now, seqs = deliveries.map(({ seq }) => seq) } = command;
      const writes = seqs.map((seq) => ({ do: "resend_delivery", seq, now }) as const);
      return planned({ ok: true, resent: writes.length }, writes);
    }
    case "repeat_delivery": {
      const delivery = task && deliveryOfStatus(task, command.hook);
      const writes = delivery === undefined ? [] : [{ do: "keep_delivery", delivery } as const];
      return planned({ ok: true, repeated: delivery !== undefined }, writes);
    }
    case "trim_deliveries": {
      const writes = excess.map((seq) => ({ do: "drop_delivery", seq }) as const);
      return planned({ ok: true, dropped: writes.length }, writes);
    }
  }
}

function planned(result: CommandResult, writes: readonly OutboxWrite[]): Plan {
  return { result, writes: writes.map((write) => ({ do: "write_outbox", write })), changes: [] };
}

/** The deliveries for a new task. */
function deliveriesForNew(task: TaskRecord): readonly TableWrite[] {
  return kept(deliveriesOf(undefined, task));
}

/** The deliveries for changes, each of one of the tasks as they were before. */
export function deliveryWrites(
  before: readonly (TaskRecord | undefined)[],
  decisions: readonly Decision[],
): readonly TableWrite[] {
  return decisions.flatMap(({ task }) => {
    if (task.notifies === undefined) return [];
    const old = before.find((each) => each?.id === task.id);
    return old === undefined ? [] : kept(deliveriesOf(old, task));
  });
}

/** The deliveries for a task that is deleted early. */
export function deliveriesForDeleted(task: TaskRecord | undefined, now: number): readonly TableWrite[] {
  return task?.notifies === undefined ? [] : kept(deliveriesOfDeleted(task, now));
}

function kept(deliveries: readonly Delivery[]): readonly TableWrite[] {
  return deliveries.map((delivery) => ({ do: "write_outbox", write: { do: "keep_delivery", delivery } }));
}

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

function assertIndexed({ principal, tool }: TaskRecord): void {
  for (const [what, name] of Object.entries({ principal, tool })) {
    const bytes = Buffer.byteLength(toStored(name ?? ""));
    const most = mostNameBytes[what as keyof typeof mostNameBytes];
    if (bytes <= most) continue;
    const problem = `The ${what} of the task has ${bytes} bytes, and ${most} are the most that it may have.`;
    throw new HoldfastError("too_large", `${problem} Use a shorter name, such as a hash of it.`);
  }
}

/** Adds a task that begins with these entries. The insert comes first, since it can fail. Throws `too_large` for names that are too long. */
export function inserting(
  task: TaskRecord,
  request: TaskRequest,
  journal: readonly JournalEntry[],
): readonly TableWrite[] {
  assertIndexed(task);
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
