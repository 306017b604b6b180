import type { MessageCommand } from "../../src/store/message-command.ts";
import type { NewTask, TaskCommand } from "../../src/task/command.ts";
import type { Allowance, Quota } from "../../src/task/quota.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { join, leave, othersOf } from "./model-callers.ts";
import { isAlive, isHeld, isServed } from "./model-owners.ts";
import { claim, reclaim, wake } from "./model-queue.ts";
import { byId, put, refuse, step, unchanged, type Model, type ModelStep } from "./model-state.ts";
import { changed, effect, refusal, withSweepAt, type ChangeCommand } from "./model-task.ts";

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
      const tasks = new Map([...model.tasks].filter(([id]) => !deleted.includes(id)));
      return step({ ...model, tasks }, { ok: true, deleted }, ...deleted);
    }
    case "release_key": {
      const old = model.tasks.get(command.id);
      if (old === undefined) return refuse(model, "unknown");
      if (old.task.finishedAt === null) return refuse(model, "state");
      const deleteBy = old.task.promised ? Infinity : (command.deleteBy ?? Infinity);
      const first = Math.min(old.task.sweepAt ?? Infinity, deleteBy);
      const sweepAt = first === Infinity ? null : first;
      const task = { ...old.task, idempotencyKey: null, awaitedBy: [], sweepAt };
      return step(put(model, { ...old, task }), { ok: true }, command.id);
    }
    case "delete": {
      const old = model.tasks.get(command.id);
      if (old === undefined) return refuse(model, "unknown");
      if (old.task.finishedAt === null) return refuse(model, "state");
      const tasks = new Map(model.tasks);
      tasks.delete(command.id);
      return step({ ...model, tasks }, { ok: true }, command.id);
    }
    case "keep_secret": {
      const value = model.secrets.get(command.name) ?? command.value;
      const secrets = new Map(model.secrets).set(command.name, value);
      return unchanged({ ...model, secrets }, { ok: true, value });
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
    case "retry":
    case "retry_step":
    case "call_tool":
    case "wait_event":
    case "send_event":
      throw new Error(`${command.type} is not in the model`);
    default:
      return change(model, by, command);
  }
}

function create(model: Model, by: string, command: TaskCommand<"create">): ModelStep {
  const { task: wanted, request, token, now, quota, forAnyOwner, awaited, promised } = command;
  const tasks = [...model.tasks.values()].map(({ task }) => task);
  const repeated = tasks.find((task) => hasSameKey(task, wanted));
  if (repeated !== undefined) {
    const same = repeated.requestHash === wanted.requestHash && repeated.generation === wanted.generation;
    return same ? unchanged(model, { ok: true, created: false, task: repeated }) : refuse(model, "conflict");
  }
  if (quota !== undefined && !hasRoomIn(tasks, wanted.principal, quota)) return refuse(model, "quota");
  if (tasks.some((task) => hasSameId(task, wanted))) return refuse(model, "taken");
  const runs = token !== null;
  const below = { parent: null, childInputs: 0, openWaits: 0 };
  const counts = { version: 1, attempt: runs ? 1 : 0, openInputs: 0, crashes: 0, failures: 0, ...below };
  const times = { createdAt: now, updatedAt: now, startedAt: runs ? now : null, finishedAt: null };
  const marks = {
    progress: null,
    journalled: false,
    waiting: false,
    limited: false,
    cancelRequestedAt: null,
    sweepAt: null,
    toolVersion: null,
  };
  const ends = { cancelBy: null, outcomeKind: null };
  const state = runs ? "running" : "queued";
  const line = runs ? { lane: null, runAfter: null } : { lane: "new" as const, runAfter: now };
  const whose = { owner: !runs && forAnyOwner ? null : by, ...line };
  const callers = { awaitedBy: awaited ? [by] : [], promised: promised ?? false };
  const all = { ...counts, ...times, ...marks, ...ends, ...whose, ...callers };
  const task = withSweepAt({ ...wanted, state, token, ...all });
  const next = put(model, { task, request, journal: [], outcome: null, messages: [] });
  return step(next, { ok: true, created: true, task }, task.id);
}

function hasRoomIn(all: readonly TaskRecord[], principal: string | null, quota: Quota): boolean {
  const own = all.filter((task) => task.principal === principal);
  const fits = (tasks: readonly TaskRecord[], { unfinished, retained }: Allowance): boolean =>
    tasks.filter((task) => task.finishedAt === null).length < (unfinished ?? Infinity) &&
    tasks.length < (retained ?? Infinity);
  return fits(all, quota.total) && (principal === null || fits(own, quota.perPrincipal));
}

function change(model: Model, by: string, command: ChangeCommand): ModelStep {
  const old = model.tasks.get(command.id);
  if (old === undefined) return refuse(model, "unknown");
  const isWanted = old.task.promised || othersOf(model, old.task, by).length > 0;
  const circumstances = { isServed: isServed(model, old.task), isWanted };
  const done = refusal(old, command, circumstances) ?? effect(old, command, by);
  if (typeof done === "string") return refuse(model, done);
  const next = done.idle ? old : changed(old, done);
  const accepted = (done.entries ?? []).map(({ key }) => key);
  const { journalled, token, owner } = old.task;
  const hears = token !== null && owner !== null && (owner === by || isAlive(model, owner));
  const more = {
    ...(command.type === "answer_inputs" && { accepted }),
    ...(command.type === "cancel" && { unheld: journalled && !hears }),
  };
  const answer = { ok: true, task: next.task, ...more } as const;
  if (done.idle) return unchanged(model, answer);
  return step(put(model, next), answer, command.id);
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
