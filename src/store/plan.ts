import type { CommandResult, Refusal, TaskCommand } from "../task/command.ts";
import { withCaller, withoutCallers, decide, type Decision } from "../task/decide.ts";
import { createRecord, isSameCall } from "../task/create-record.ts";
import { hasRoom, hasHandler, noTurns } from "../task/queue.ts";
import type { TaskRecord } from "../task/record.ts";
import { isTerminal } from "../task/outcome.ts";
import { storable } from "../task/time.ts";
import type { Facts } from "./facts.ts";
import { callTool, sendEvent, waitForEvent } from "./plan-waits.ts";
import { extend, pauseOrResume, withAction } from "./plan-admin.ts";
import { change, saving } from "./plan-change.ts";
import { planOutbox, deliveriesForDeleted, deliveriesForNew } from "./plan-outbox.ts";
import type { Plan, TableWrite } from "./table-write.ts";

/** Decides a command from its facts. Actions of operators are recorded with it. */
export function planFor(command: TaskCommand, facts: Facts): Plan {
  const plan = decided(command, facts);
  return command.by === undefined || !plan.result.ok ? plan : withAction(plan, command, facts);
}

function decided(command: TaskCommand, facts: Facts): Plan {
  switch (command.type) {
    case "create":
      return create(command, facts);
    case "claim":
      return claim(command, facts);
    case "reclaim":
      return reclaim(command, facts);
    case "wake":
      return wake(command, facts);
    case "delete_expired": {
      const deleted = facts.deletable ?? [];
      return removal({ ok: true, deleted }, deleted);
    }
    case "join":
      return callers(facts, (task, others) => withCaller(task, command, facts.owner, others));
    case "leave":
      return callers(facts, (task, others) => withoutCallers(task, command, facts.owner, others));
    case "release_key":
      return releaseKey(command, facts);
    case "extend":
      return extend(command, facts);
    case "pause_tool":
    case "resume_tool":
      return pauseOrResume(command);
    case "delete": {
      const refusal = unlessFinished(facts.task);
      if (refusal !== undefined) return refused(refusal);
      const removed = removal({ ok: true }, [command.id]);
      return { ...removed, writes: [...removed.writes, ...deliveriesForDeleted(facts.task, command.now)] };
    }
    case "keep_secret": {
      const { name, value } = command;
      const isNew = facts.secret === undefined && value !== null;
      const writes: TableWrite[] = isNew ? [{ do: "keep_secret", name, value }] : [];
      return { result: { ok: true, value: facts.secret ?? value }, writes, changes: [] };
    }
    case "claim_deliveries":
    case "end_delivery":
    case "retry_delivery":
    case "resend_deliveries":
    case "trim_deliveries":
      return planOutbox(command, facts);
    case "call_tool":
      return callTool(command, facts);
    case "wait_event":
      return waitForEvent(command, facts);
    case "send_event":
      return sendEvent(command, facts);
    default:
      return change(command, facts);
  }
}

function create(command: TaskCommand<"create">, { sameKey, usage, owner }: Facts): Plan {
  if (sameKey !== undefined) {
    if (!isSameCall(sameKey, command)) return refused("conflict");
    return { result: { ok: true, created: false, task: sameKey }, writes: [], changes: [] };
  }
  if (!fits(command, usage)) return refused("quota");
  const { journal = [], request } = command;
  const task = { ...createRecord(command, owner), journalled: journal.length > 0 };
  const { id, version } = task;
  const save: readonly TableWrite[] =
    journal.length === 0 ? [] : [{ do: "save", task, journal, outcome: null }];
  return {
    result: { ok: true, created: true, task },
    writes: [{ do: "insert", task, request }, ...save, ...deliveriesForNew(task)],
    changes: [{ id, version }],
  };
}

function fits({ quota }: TaskCommand<"create">, usage: Facts["usage"]): boolean {
  if (quota === undefined || usage === undefined) return true;
  const { total, ofPrincipal } = usage;
  return hasRoom(total, quota.total) && (ofPrincipal === null || hasRoom(ofPrincipal, quota.perPrincipal));
}

function claim(
  { handlers, tokens, now, turns: before }: TaskCommand<"claim">,
  { runnable, owner }: Facts,
): Plan {
  const { tasks = [], unreadable = [], turns = before ?? noTurns, heldBack = false } = runnable ?? {};
  const started: Decision[] = [];
  for (const [index, token] of tokens.entries()) {
    const task = tasks[index];
    if (task === undefined) break;
    const { concurrency, version } = handlers.find((handler) => hasHandler([handler], task)) ?? {};
    const start = {
      type: "start",
      now,
      id: task.id,
      token,
      ...(concurrency !== undefined && ({ limited: true } as const)),
      ...(version !== undefined && { version }),
    } as const;
    const decision = decide(task, start, { owner, entry: () => undefined });
    if (decision.ok) started.push(decision);
  }
  const claimed = started.map(({ task }) => task);
  return { result: { ok: true, tasks: claimed, unreadable, turns, heldBack }, ...saving(started) };
}

function wake({ now }: TaskCommand<"wake">, { toWake, owner }: Facts): Plan {
  const { tasks = [], unreadable = [] } = toWake ?? {};
  const woken = tasks
    .map((task) => decide(task, { type: "wake", now, id: task.id }, { owner, entry: () => undefined }))
    .filter((decision) => decision.ok);
  return { result: { ok: true, woken: woken.length, unreadable }, ...saving(woken) };
}

function reclaim({ owner, now, backoff }: TaskCommand<"reclaim">, facts: Facts): Plan {
  const { alive = false, tasks = [], unreadable = [], next = null } = facts.running ?? {};
  // An owner that writes lives, whatever its lock says.
  if (alive || owner === facts.owner) return refused("state");
  const circumstances = { owner: facts.owner, entry: () => undefined };
  const given = tasks
    .map((task) => decide(task, { type: "reclaim", now, id: task.id, backoff }, circumstances))
    .filter((decision) => decision.ok);
  const { writes, changes } = saving(given);
  // With the first page: otherwise an owner that was declared dead could claim again what that page returned, which no later page sees.
  const retire: TableWrite = { do: "retire_owner", owner, forgetAt: next === null ? now : null };
  return {
    result: { ok: true, reclaimed: given.length, unreadable, next },
    writes: [...writes, retire],
    changes,
  };
}

/** Changes the callers of a task. For callers at other owners it is a change like any other. */
function callers(
  { task: before, awaitedBy = [] }: Facts,
  changed: (task: TaskRecord, others: readonly string[]) => TaskRecord | Refusal,
): Plan {
  if (before === undefined) return refused("unknown");
  const after = changed(before, awaitedBy);
  if (typeof after === "string") return refused(after);
  if (isSame(before, after)) return { result: { ok: true, task: before }, writes: [], changes: [] };
  const task = { ...after, version: before.version + 1 };
  const { id, version } = task;
  return {
    result: { ok: true, task },
    writes: [{ do: "save", task, journal: [], outcome: null }],
    changes: [{ id, version }],
  };
}

function isSame(before: TaskRecord, after: TaskRecord): boolean {
  const { awaitedBy, promised, cancelBy } = after;
  const isAwaitedBySame =
    awaitedBy.length === before.awaitedBy.length &&
    awaitedBy.every((owner, index) => owner === before.awaitedBy[index]);
  return isAwaitedBySame && promised === before.promised && cancelBy === before.cancelBy;
}

/** For clients that know its id, the finished task does not change; callers that wait with the same call are notified. */
function releaseKey({ id, deleteBy }: TaskCommand<"release_key">, { task }: Facts): Plan {
  if (task === undefined) return refused("unknown");
  if (!isTerminal(task.state)) return refused("state");
  const until = deleteBy === undefined || task.promised ? null : storable(deleteBy);
  const { version } = task;
  return {
    result: { ok: true },
    writes: [{ do: "release_key", id, deleteBy: until }],
    changes: [{ id, version }],
  };
}

function removal(result: CommandResult, ids: readonly string[]): Plan {
  return {
    result,
    writes: ids.map((id) => ({ do: "remove", id })),
    changes: ids.map((id) => ({ id, version: null })),
  };
}

function unlessFinished(task: TaskRecord | undefined): Refusal | undefined {
  if (task === undefined) return "unknown";
  return isTerminal(task.state) ? undefined : "state";
}

function refused(reason: Refusal): Plan {
  return { result: { ok: false, reason }, writes: [], changes: [] };
}
