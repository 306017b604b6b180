import type { MessageCommand } from "../../src/store/session-store.ts";
import type { TaskCommand } from "../../src/task/command.ts";
import type { NewTask, TaskRecord, TaskRequest } from "../../src/task/record.ts";
import type { Allowance, Quota } from "../../src/task/queue.ts";
import { attemptOf, overBy } from "./model-attempts.ts";
import { bulk } from "./model-bulk.ts";
import { join, leave, othersOf } from "./model-callers.ts";
import { sendEvent } from "./model-events.ts";
import { isAlive, isHeld, isServed } from "./model-owners.ts";
import { claim, reclaim, wake } from "./model-queue.ts";
import { endedBelow, stepAround } from "./model-relatives.ts";
import { byId, put, refuse, step, unchanged, type Model, type ModelStep } from "./model-state.ts";
import { changed, effect, refusal, withSweepAt, type ChangeCommand, type ModelTask } from "./model-task.ts";

/** Every write that is about tasks. */
export type StoreCommand = TaskCommand | MessageCommand;

/** What one command of an owner makes of a store. */
export function apply(model: Model, by: string, command: StoreCommand): ModelStep {
  if (!isHeld(model, by)) return unchanged(model, { rejected: "store_lost" });
  switch (command.type) {
    case "create":
      return create(model, by, command);
    case "claim":
      return claim(model, by, command);
    case "wake":
      return wake(model, command);
    case "reclaim":
      return reclaim(model, by, command);
    case "join":
      return join(model, by, command);
    case "leave":
      return leave(model, by, command);
    case "delete_expired": {
      const deleted = sweepable(model, true, command.now).slice(0, command.limit);
      const gone = deleted.flatMap((id) => [...endedBelow(model, id), id]);
      const tasks = new Map([...model.tasks].filter(([id]) => !gone.includes(id)));
      return step({ ...model, tasks }, { ok: true, deleted }, ...gone);
    }
    case "release_key": {
      const old = model.tasks.get(command.id);
      if (old === undefined) return refuse(model, "unknown");
      if (old.task.finishedAt === null) return refuse(model, "state");
      const deleteBy = old.task.promised ? Infinity : (command.deleteBy ?? Infinity);
      const first = Math.min(old.task.sweepAt ?? Infinity, deleteBy);
      const sweepAt = first === Infinity ? null : first;
      const version = old.task.version + 1;
      const task = { ...old.task, idempotencyKey: null, awaitedBy: [], sweepAt, version };
      return step(put(model, { ...old, task }), { ok: true }, command.id);
    }
    case "retrieve": {
      const old = model.tasks.get(command.id);
      if (old === undefined) return refuse(model, "unknown");
      if (old.task.finishedAt === null || old.task.retrieved !== undefined) return refuse(model, "state");
      const version = old.task.version + 1;
      const task = { ...old.task, retrieved: { at: command.now, via: command.via }, version };
      return unchanged(put(model, { ...old, task }), { ok: true, task });
    }
    case "delete": {
      const old = model.tasks.get(command.id);
      if (old === undefined) return refuse(model, "unknown");
      if (old.task.finishedAt === null) return refuse(model, "state");
      const gone = [...endedBelow(model, command.id), command.id];
      const tasks = new Map([...model.tasks].filter(([id]) => !gone.includes(id)));
      return step({ ...model, tasks }, { ok: true }, ...gone);
    }
    case "extend": {
      const old = model.tasks.get(command.id);
      if (old === undefined) return refuse(model, "unknown");
      const { state, owner } = old.task;
      const isHeldNow = owner !== null && (owner === by || isAlive(model, owner));
      if (state === "running" && !isHeldNow) return refuse(model, "state");
      const task = { ...extended(old.task, command.until), version: old.task.version + 1 };
      return step(put(model, { ...old, task }), { ok: true, task }, command.id);
    }
    case "pause_tool": {
      const paused = [...new Set([...model.paused, command.tool])].sort();
      return unchanged({ ...model, paused }, { ok: true });
    }
    case "resume_tool": {
      const paused = model.paused.filter((tool) => tool !== command.tool);
      return unchanged({ ...model, paused }, { ok: true });
    }
    case "drain_owner":
    case "mark_cause":
    case "record_action":
      return unchanged(model, { ok: true });
    case "claim_deliveries":
      return unchanged(model, { ok: true, deliveries: [] });
    case "resend_deliveries":
      return unchanged(model, { ok: true, resent: 0 });
    case "trim_deliveries":
      return unchanged(model, { ok: true, dropped: 0 });
    case "repeat_delivery":
      return unchanged(model, { ok: true, repeated: false });
    case "end_delivery":
    case "retry_delivery":
      return unchanged(model, { ok: true });
    case "add_bulk_tasks":
    case "start_bulk":
    case "hold_bulk":
    case "end_bulk":
    case "refuse_bulk_task":
    case "delete_bulk":
      return bulk(model, by, command);
    case "keep_secret": {
      const value = model.secrets.get(command.name) ?? command.value;
      if (value === null) return unchanged(model, { ok: true, value });
      const secrets = new Map(model.secrets).set(command.name, value);
      return unchanged({ ...model, secrets }, { ok: true, value });
    }
    case "replace_secret": {
      const { name, before, value } = command;
      if (model.secrets.get(name) !== before) return unchanged(model, { ok: true, replaced: false });
      const secrets = new Map(model.secrets);
      if (value === null) secrets.delete(name);
      else secrets.set(name, value);
      return unchanged({ ...model, secrets }, { ok: true, replaced: true });
    }
    case "rekey": {
      const old = model.tasks.get(command.id);
      if (old === undefined) return refuse(model, "unknown");
      if (old.task.idempotencyKey !== command.before) return refuse(model, "state");
      const task = { ...old.task, idempotencyKey: command.key, version: old.task.version + 1 };
      return step(put(model, { ...old, task }), { ok: true, task }, command.id);
    }
    case "put_message": {
      const old = model.tasks.get(command.taskId);
      if (old === undefined) return refuse(model, "unknown");
      if (old.messages.length >= (command.maxMessages ?? Infinity)) return refuse(model, "full");
      const message = { body: command.message.body, owner: command.message.bound ? by : null };
      return unchanged(put(model, { ...old, messages: [...old.messages, message] }), { ok: true });
    }
    case "take_messages": {
      const old = model.tasks.get(command.taskId);
      if (old === undefined) return unchanged(model, []);
      const ours = old.messages.filter(({ owner }) => owner === null || owner === by);
      const taken = ours.slice(0, command.limit ?? Infinity);
      const messages = old.messages.filter((message) => !taken.includes(message));
      return unchanged(
        put(model, { ...old, messages }),
        taken.map(({ body }) => body),
      );
    }
    case "call_tool":
      return callTool(model, by, command);
    case "send_event":
      return sendEvent(model, command);
    default:
      return change(model, by, command);
  }
}

/** Kept until then; one that has not ended may run as long. */
function extended(task: TaskRecord, until: number | null): TaskRecord {
  const { expiry, createdAt, finishedAt } = task;
  if (finishedAt !== null) return { ...task, sweepAt: until };
  const ms = until === null ? null : Math.max(0, until - createdAt);
  if (expiry.from === "terminal") return withSweepAt({ ...task, runUntil: until });
  const runUntil = until === null ? null : task.runUntil;
  return withSweepAt({ ...task, expiry: { ...expiry, ms }, runUntil });
}

function create(model: Model, by: string, command: TaskCommand<"create">): ModelStep {
  const { task: wanted, request, token, quota, forAnyOwner, awaited, promised } = command;
  const tasks = [...model.tasks.values()].map(({ task }) => task);
  const repeated = tasks.find((task) => hasSameKey(task, wanted));
  if (repeated !== undefined) {
    const same = repeated.requestHash === wanted.requestHash && repeated.generation === wanted.generation;
    return same ? unchanged(model, { ok: true, created: false, task: repeated }) : refuse(model, "conflict");
  }
  if (quota !== undefined && !hasRoomIn(tasks, wanted.principal, quota)) return refuse(model, "quota");
  if (tasks.some((task) => hasSameId(task, wanted))) return refuse(model, "taken");
  const owner = token === null && forAnyOwner ? null : by;
  const version = token === null ? null : (command.version ?? null);
  const made = newTask(command, { owner, token, version, parent: null });
  const task = { ...made, awaitedBy: awaited ? [by] : [], promised: promised ?? false };
  return step(put(model, stored(task, request)), { ok: true, created: true, task }, task.id);
}

/** The call enters the journal together with its task, which any owner may run. */
function callTool(model: Model, by: string, command: TaskCommand<"call_tool">): ModelStep {
  const { id, key, child: wanted, request, journal = [], now, cancelGraceMs } = command;
  const old = model.tasks.get(id);
  if (old === undefined) return refuse(model, "unknown");
  const done = refusal(old, command, { isServed: false, isWanted: false }) ?? effect(old, command, by);
  if (typeof done === "string") return refuse(model, done);
  const tasks = [...model.tasks.values()].map(({ task }) => task);
  if (tasks.some((task) => hasSameId(task, wanted))) return refuse(model, "taken");
  const next = changed(old, { ...done, now: command.now });
  const parent = { id, key, root: old.task.parent?.root ?? id, cancelGraceMs };
  const made = newTask({ task: wanted, now }, { owner: null, token: null, version: null, parent });
  const child = { ...made, journalled: journal.length > 0 };
  const { changes } = step(put(model, next), { ok: true }, id);
  return {
    model: put(model, next, { ...stored(child, request), journal }),
    answer: { ok: true, task: next.task },
    changes: [...changes, { id: child.id, version: 1, isRelative: true }],
  };
}

function newTask(
  { task: wanted, now }: Pick<TaskCommand<"create">, "task" | "now">,
  how: Pick<TaskRecord, "owner" | "token" | "parent"> & { readonly version: number | null },
): TaskRecord {
  const { owner, token, parent, version: toolVersion } = how;
  const runs = token !== null;
  const open = { openInputs: 0, childInputs: 0, openWaits: 0 };
  const counts = { version: 1, attempt: runs ? 1 : 0, crashes: 0, failures: 0, ...open };
  const times = { createdAt: now, updatedAt: now, startedAt: runs ? now : null, finishedAt: null };
  const marks = {
    progress: null,
    logged: 0,
    outputs: 0,
    journalled: false,
    waiting: false,
    waitsFor: null,
    limited: false,
    cancelRequestedAt: null,
    sweepAt: null,
    toolVersion,
    attempts: runs && owner !== null ? [attemptOf(1, owner, now)] : [],
  };
  const ends = { cancelBy: null, outcomeKind: null, awaitedBy: [], promised: false };
  const state = runs ? "running" : "queued";
  const line = runs ? { lane: null, runAfter: null } : { lane: "new" as const, runAfter: now };
  const all = { ...counts, ...times, ...marks, ...ends, ...line };
  return withSweepAt({ ...wanted, parent, owner, state, token, ...all });
}

function stored(task: TaskRecord, request: TaskRequest): ModelTask {
  return { task, request, journal: [], outcome: null, events: [], lines: [], pieces: [], messages: [] };
}

function hasRoomIn(all: readonly TaskRecord[], principal: string | null, quota: Quota): boolean {
  const made = all.filter((task) => task.parent === null);
  const own = made.filter((task) => task.principal === principal);
  const fits = (tasks: readonly TaskRecord[], { unfinished, retained }: Allowance): boolean =>
    tasks.filter((task) => task.finishedAt === null).length < (unfinished ?? Infinity) &&
    tasks.length < (retained ?? Infinity);
  return fits(made, quota.total) && (principal === null || fits(own, quota.perPrincipal));
}

function change(model: Model, by: string, command: ChangeCommand): ModelStep {
  const old = model.tasks.get(command.id);
  if (old === undefined) return refuse(model, "unknown");
  const isWanted = old.task.promised || othersOf(model, old.task, by).length > 0;
  const circumstances = { isServed: isServed(model, old.task), isWanted };
  const done = refusal(old, command, circumstances) ?? effect(old, command, by);
  if (typeof done === "string") return refuse(model, done);
  const attempts = overBy(old.task, command);
  const next = done.idle
    ? old
    : changed(old, { ...done, now: command.now, task: { attempts, ...done.task } });
  const accepted = (done.entries ?? []).map(({ key }) => key);
  const { journalled, attempt, token, owner } = old.task;
  const hears = token !== null && owner !== null && (owner === by || isAlive(model, owner));
  const more = {
    ...(command.type === "answer_inputs" && { accepted }),
    ...(command.type === "cancel" && { released: (journalled || attempt > 0) && !hears }),
  };
  const answer = { ok: true, task: next.task, ...more } as const;
  if (done.idle) return unchanged(model, answer);
  const around = stepAround(model, old, next, command, answer);
  if (command.type !== "next_round") return around;
  const gone = endedBelow(model, command.id);
  const tasks = new Map([...around.model.tasks].filter(([id]) => !gone.includes(id)));
  const changes = [...gone.map((id) => ({ id, version: null })), ...around.changes];
  return { ...around, model: { ...around.model, tasks }, changes };
}

/** Ids of finished (or unfinished) tasks whose time has come, the earliest first. */
export function sweepable(model: Model, finished: boolean, now: number): string[] {
  const all = [...model.tasks.values()].sort(byId).map(({ task }) => task);
  const due = all.filter(({ finishedAt, sweepAt }) => (finishedAt !== null) === finished && sweepAt !== null);
  const inTime = due.filter(({ sweepAt }) => Number(sweepAt) <= now);
  return inTime.sort((a, b) => Number(a.sweepAt) - Number(b.sweepAt)).map(({ id }) => id);
}

function hasSameKey(task: TaskRecord, { idempotencyKey, principal }: NewTask): boolean {
  return idempotencyKey !== null && task.idempotencyKey === idempotencyKey && task.principal === principal;
}

function hasSameId(task: TaskRecord, { id, generation, scope, wireId }: NewTask): boolean {
  if (task.id === id) return true;
  return task.generation === generation && task.scope === scope && task.wireId === wireId;
}
