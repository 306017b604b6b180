import type { CommandResult, Refusal, TaskCommand } from "../task/command.ts";
import { withCaller, withoutCallers, decide, type Decision, type TaskChangeCommand } from "../task/decide.ts";
import { createRecord } from "../task/record-changes.ts";
import { hasHandler, noTurns } from "../task/queue.ts";
import type { TaskRecord, ParentTask } from "../task/record.ts";
import { isTerminal } from "../task/outcome.ts";
import type { Facts } from "./facts.ts";
import {
  beginningWith,
  deliveriesForDeleted,
  deliveryWrites,
  inserting,
  planNewTask,
  planOutbox,
  planSecret,
  rekey,
  releaseKey,
} from "./plan-new-task.ts";
import { extend, planBulk, planSaid, withAction, withBulkEnd } from "./plan-operators.ts";
import { changed, type Plan, refused, type TableWrite } from "./table-write.ts";
import type { JournalEntry } from "../task/journal.ts";
import { lossesOf } from "../task/suspicion.ts";
import { changesOfRelatives, isKeptBelow } from "./relatives.ts";

/** Decides a command from its facts. Actions of operators are recorded with it. */
export function planFor(command: TaskCommand, facts: Facts): Plan {
  const plan = decided(command, facts);
  if (!plan.result.ok) return plan;
  const acted = command.by === undefined ? plan : withAction(plan, command, facts);
  return command.bulk === undefined ? acted : withBulkEnd(acted, command, command.bulk);
}

function decided(command: TaskCommand, facts: Facts): Plan {
  switch (command.type) {
    case "create":
      return planNewTask(command, facts);
    case "claim":
      return claim(command, facts);
    case "reclaim":
      return reclaim(command, facts);
    case "wake":
      return wake(command, facts);
    case "delete_expired":
      return removal({ ok: true, deleted: facts.deletable ?? [] }, facts.deletable ?? [], facts);
    case "join":
      return callers(facts, (task, others) => withCaller(task, command, facts.owner, others));
    case "leave":
      return callers(facts, (task, others) => withoutCallers(task, command, facts.owner, others));
    case "release_key":
      return releaseKey(command, facts);
    case "retrieve":
      return retrieve(command, facts);
    case "extend":
      return extend(command, facts);
    case "pause_tool":
    case "resume_tool":
    case "drain_owner":
    case "mark_cause":
    case "record_action":
      return planSaid(command);
    case "delete": {
      const refusal = unlessFinished(facts.task);
      if (refusal !== undefined) return refused(refusal);
      const removed = removal({ ok: true }, [command.id], facts);
      return { ...removed, writes: [...removed.writes, ...deliveriesForDeleted(facts.task, command.now)] };
    }
    case "keep_secret":
    case "replace_secret":
      return planSecret(command, facts);
    case "rekey":
      return rekey(command, facts);
    case "claim_deliveries":
    case "end_delivery":
    case "retry_delivery":
    case "resend_deliveries":
    case "repeat_delivery":
    case "trim_deliveries":
      return planOutbox(command, facts);
    case "add_bulk_tasks":
    case "start_bulk":
    case "hold_bulk":
    case "end_bulk":
    case "refuse_bulk_task":
    case "delete_bulk":
      return planBulk(command, facts);
    case "call_tool":
      return callTool(command, facts);
    case "wait_event":
      return waitForEvent(command, facts);
    case "send_event":
      return sendEvent(command, facts);
    case "next_round":
      return withoutEnded(change(command, facts), facts);
    default:
      return change(command, facts);
  }
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

function wake({ now, until }: TaskCommand<"wake">, { toWake, owner }: Facts): Plan {
  const { tasks = [], unreadable = [] } = toWake ?? {};
  const woken = tasks
    .map((task) =>
      decide(
        task,
        { type: "wake", now, ...(until !== undefined && { until }), id: task.id },
        { owner, entry: () => undefined },
      ),
    )
    .filter((decision) => decision.ok);
  return { result: { ok: true, woken: woken.length, unreadable }, ...saving(woken) };
}

function reclaim({ owner, after, now, backoff }: TaskCommand<"reclaim">, facts: Facts): Plan {
  const { alive = false, tasks = [], unreadable = [], next = null } = facts.running ?? {};
  // An owner that writes lives, whatever its lock says.
  if (alive || owner === facts.owner) return refused("state");
  const circumstances = { owner: facts.owner, entry: () => undefined };
  const lossOf = lossesOf(tasks, after === "" && next === null && unreadable.length === 0);
  const given = tasks
    .map((task) =>
      decide(task, { type: "reclaim", now, id: task.id, backoff, loss: lossOf(task) }, circumstances),
    )
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
  callersOf: (task: TaskRecord, others: readonly string[]) => TaskRecord | Refusal,
): Plan {
  if (before === undefined) return refused("unknown");
  const after = callersOf(before, awaitedBy);
  if (typeof after === "string") return refused(after);
  if (isSame(before, after)) return { result: { ok: true, task: before }, writes: [], changes: [] };
  return changed(before, after);
}

function isSame(before: TaskRecord, after: TaskRecord): boolean {
  const { awaitedBy, promised, cancelBy } = after;
  const isAwaitedBySame =
    awaitedBy.length === before.awaitedBy.length &&
    awaitedBy.every((owner, index) => owner === before.awaitedBy[index]);
  return isAwaitedBySame && promised === before.promised && cancelBy === before.cancelBy;
}

/** An audit of the task, of which nobody is notified. */
function retrieve({ via, now }: TaskCommand<"retrieve">, { task: before }: Facts): Plan {
  if (before === undefined) return refused("unknown");
  if (before.finishedAt === null || before.retrieved !== undefined) return refused("state");
  return { ...changed(before, { ...before, retrieved: { at: now, via } }), changes: [] };
}

/** Failed tasks that were kept below them go with them. */
function removal(result: CommandResult, ids: readonly string[], facts: Facts): Plan {
  const isChild = (facts.task?.parent ?? null) !== null;
  const writes = ids.map((id) => ({ do: "remove", id, ...(isChild && { isChild }) }) as const);
  return withoutEnded({ result, writes, changes: ids.map((id) => ({ id, version: null })) }, facts);
}

/** Removes also the ended tasks that are kept below. */
function withoutEnded({ result, writes, changes }: Plan, facts: Facts): Plan {
  const { below = [] } = result.ok ? facts : {};
  const removes = below.map((id) => ({ do: "remove", id, isChild: true }) as const);
  const gone = below.map((id) => ({ id, version: null }));
  return { result, writes: [...removes, ...writes], changes: [...gone, ...changes] };
}

function unlessFinished(task: TaskRecord | undefined): Refusal | undefined {
  if (task === undefined) return "unknown";
  return isTerminal(task.state) ? undefined : "state";
}

/** Adds the call to the journal together with the task that is made for it. */
export function callTool(command: TaskCommand<"call_tool">, { task: before, entries, owner }: Facts): Plan {
  const decision = decide(before, command, { owner, entry: lookUp(entries) });
  if (!decision.ok) return refused(decision.reason);
  const { task } = decision;
  const { key, child, request, journal = [], now, cancelGraceMs } = command;
  const parent: ParentTask = { id: task.id, key, root: task.parent?.root ?? task.id, cancelGraceMs };
  const made = beginningWith(
    journal,
    createRecord({ task: child, token: null, now, forAnyOwner: true }, owner, parent),
  );
  const { writes, changes } = saving([decision]);
  return {
    result: { ok: true, task },
    writes: [...inserting(made, request, journal), ...writes],
    changes: [...changes, { id: made.id, version: made.version, isRelative: true }],
  };
}

/** Takes an earlier event at once. */
export function waitForEvent(
  command: TaskCommand<"wait_event">,
  { task: before, entries, owner, event }: Facts,
): Plan {
  const kept = event?.kept;
  const decision = decide(before, command, { owner, entry: lookUp(entries), keptEvent: kept?.value });
  if (!decision.ok) return refused(decision.reason);
  const { task } = decision;
  const { writes, changes } = saving([decision]);
  const take: TableWrite[] = kept === undefined ? [] : [{ do: "take_event", taskId: task.id, seq: kept.seq }];
  return { result: { ok: true, task }, writes: [...writes, ...take], changes };
}

/** An event ends a wait, or is kept. Either way it is stored, so that its `dedupeId` is recognised when it comes again. */
export function sendEvent(
  command: TaskCommand<"send_event">,
  { task: before, entries, owner, event }: Facts,
): Plan {
  const { isKnown = false, count = 0 } = event ?? {};
  const wait = command.key === undefined ? event?.wait : openWait(entries.get(command.key), command);
  const decision = decide(before, command, { owner, entry: lookUp(entries), eventWait: wait });
  if (!decision.ok) return refused(decision.reason);
  if (isKnown && before !== undefined) {
    return { result: { ok: true, task: before, isNew: false, ended: null }, writes: [], changes: [] };
  }
  if (wait === undefined && command.key !== undefined) return refused("state");
  if (wait === undefined && count >= command.limit) return refused("quota");
  const { id: taskId, name, value, dedupeId } = command;
  const taken = wait !== undefined;
  const keep: TableWrite = { do: "keep_event", taskId, name, value, dedupeId, taken };
  if (!taken) {
    const { task } = decision;
    const { writes, changes } = changed(task, task);
    const result = {
      ok: true,
      task: { ...task, version: task.version + 1 },
      isNew: true,
      ended: null,
    } as const;
    return { result, writes: [...writes, keep], changes };
  }
  const { writes, changes } = saving([decision]);
  return {
    result: { ok: true, task: decision.task, isNew: true, ended: wait.key },
    writes: dedupeId === null ? writes : [...writes, keep],
    changes,
  };
}

/** The wait of an entry, if an event of this name may end it now. */
function openWait(
  entry: JournalEntry | undefined,
  { name, now, past = now }: TaskCommand<"send_event">,
): JournalEntry | undefined {
  if (entry === undefined || entry.kind !== "event" || entry.request !== name || entry.doneAt !== null)
    return undefined;
  return entry.deadlineAt !== null && entry.deadlineAt <= past ? undefined : entry;
}

function lookUp(entries: Facts["entries"]): (key: string) => JournalEntry | undefined {
  return (key) => entries.get(key);
}

/** Decides a command about one task. */
export function change(command: TaskChangeCommand, facts: Facts): Plan {
  const { task: before, entries, served, held, owner, awaitedBy = [] } = facts;
  const circumstances = { owner, entry: lookUp(entries), hasHandler: served === true, awaitedBy };
  const decision = decide(before, command, circumstances);
  if (!decision.ok) return refused(decision.reason);
  const { task, journal } = decision;
  const effect =
    before === undefined || task.version === before.version
      ? nothing
      : effectOf(before, command, decision, facts);
  switch (command.type) {
    case "answer_inputs":
      return { result: { ok: true, task, accepted: journal.map(({ key }) => key) }, ...effect };
    case "cancel": {
      const released = before !== undefined && (before.journalled || before.attempt > 0) && held !== true;
      return { result: { ok: true, task, released }, ...effect };
    }
    default:
      return { result: { ok: true, task }, ...effect };
  }
}

type Effect = Pick<Plan, "writes" | "changes">;

const nothing: Effect = { writes: [], changes: [] };

/** The effect on the task and its relatives. */
function effectOf(
  before: TaskRecord,
  command: TaskChangeCommand,
  decision: Decision,
  { relatives, owner }: Facts,
): Effect {
  const own = ownEffect(decision, relatives?.root);
  if (relatives === undefined) {
    const deliveries = deliveryWrites([before], [decision]);
    return deliveries.length === 0 ? own : { ...own, writes: [...own.writes, ...deliveries] };
  }
  const around = changesOfRelatives(before, command, decision, relatives, { owner });
  const others = saving(around);
  const aroundChanges = others.changes.map((each) => ({ ...each, isRelative: true as const }));
  const deliveries = deliveryWrites([before, relatives.root, relatives.parent], [...around, decision]);
  return {
    writes: [...others.writes, ...own.writes, ...deliveries],
    changes: [...aroundChanges, ...own.changes],
  };
}

/** A child is deleted as soon as it ends, since its parent's journal has the result, unless it is kept with its root. */
function ownEffect(decision: Decision, root: TaskRecord | undefined): Effect {
  const { id, parent, state } = decision.task;
  if (parent === null || !isTerminal(state)) return saving([decision]);
  if (root !== undefined && isKeptBelow(root, decision.task))
    return saving([{ ...decision, task: { ...decision.task, sweepAt: null } }]);
  return { writes: [{ do: "remove", id, isChild: true }], changes: [{ id, version: null }] };
}

/** The writes of decisions, and the changes to report. */
export function saving(decisions: readonly Decision[]): Effect {
  return {
    writes: decisions.flatMap(({ before, task, journal, outcome, forgets, lines, pieces }): TableWrite[] => [
      { do: "save", before, task, journal, outcome, ...(forgets && { forgets }) },
      ...(lines === undefined
        ? []
        : [{ do: "append_lines" as const, id: task.id, lines: lines.add, forget: lines.forget }]),
      ...(pieces === undefined ? [] : [{ do: "change_pieces" as const, id: task.id, change: pieces }]),
    ]),
    changes: decisions.map(({ task: { id, version } }) => ({ id, version })),
  };
}
