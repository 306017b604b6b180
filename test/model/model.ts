import type { TaskChange } from "../../src/store/store.ts";
import type { CommandResult, NewTask, Refusal, TaskCommand } from "../../src/task/command.ts";
import type { Allowance, Quota } from "../../src/task/quota.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { changed, effect, refusal, withSweepAt, type ChangeCommand, type ModelTask } from "./model-task.ts";

/** All that a store holds. Never changed: each command gives another one. */
export interface Model {
  readonly tasks: ReadonlyMap<string, ModelTask>;
  readonly secrets: ReadonlyMap<string, string>;
}

export interface ModelStep {
  readonly model: Model;
  readonly result: CommandResult;
  readonly changes: readonly TaskChange[];
}

export const emptyModel: Model = { tasks: new Map(), secrets: new Map() };

/** What one command makes of a store. */
export function apply(model: Model, command: TaskCommand): ModelStep {
  switch (command.type) {
    case "create":
      return create(model, command);
    case "recover": {
      const { after, limit, now } = command;
      const unfinished = [...model.tasks.values()].filter(({ task }) => task.finishedAt === null).sort(byId);
      const alive = unfinished.filter(({ task }) => (task.sweepAt ?? Infinity) > now);
      const page = alive.filter(({ task }) => task.id > after).slice(0, limit);
      const lost = page.filter(({ task }) => task.state === "running");
      const next = page.length < limit ? null : (page.at(-1)?.task.id ?? null);
      const result = { ok: true, recovered: lost.length, unreadable: [], next } as const;
      return step(put(model, ...lost.map(orphaned)), result, ...lost.map(({ task }) => task.id));
    }
    case "delete_expired": {
      const deleted = sweepable(model, true, command.now).slice(0, command.limit);
      const tasks = new Map([...model.tasks].filter(([id]) => !deleted.includes(id)));
      return step({ ...model, tasks }, { ok: true, deleted }, ...deleted);
    }
    case "release_key": {
      const old = model.tasks.get(command.id);
      if (old === undefined) return refuse(model, "unknown");
      if (old.task.finishedAt === null) return refuse(model, "state");
      const first = Math.min(old.task.sweepAt ?? Infinity, command.deleteBy ?? Infinity);
      const sweepAt = first === Infinity ? null : first;
      return unchanged(put(model, { ...old, task: { ...old.task, idempotencyKey: null, sweepAt } }), {
        ok: true,
      });
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
      return { model: { ...model, secrets }, result: { ok: true, value }, changes: [] };
    }
    default:
      return change(model, command);
  }
}

function create(
  model: Model,
  { task: wanted, request, token, now, quota }: TaskCommand<"create">,
): ModelStep {
  const all = [...model.tasks.values()].map(({ task }) => task);
  const repeated = all.find((task) => hasSameKey(task, wanted));
  if (repeated !== undefined) {
    const same = repeated.requestHash === wanted.requestHash && repeated.generation === wanted.generation;
    return same ? unchanged(model, { ok: true, created: false, task: repeated }) : refuse(model, "conflict");
  }
  if (quota !== undefined && !hasRoomIn(all, wanted.principal, quota)) return refuse(model, "quota");
  if (all.some((task) => hasSameId(task, wanted))) return refuse(model, "taken");
  const runs = token !== null;
  const counts = { version: 1, attempt: runs ? 1 : 0, openInputs: 0, crashes: 0 };
  const times = { createdAt: now, updatedAt: now, startedAt: runs ? now : null, finishedAt: null };
  const marks = { progress: null, journalled: false, waiting: false, cancelRequestedAt: null, sweepAt: null };
  const ends = { cancelBy: null, outcomeKind: null };
  const state = runs ? "running" : "queued";
  const task = withSweepAt({ ...wanted, state, token, ...counts, ...times, ...marks, ...ends });
  const next = put(model, { task, request, journal: [], outcome: null });
  return step(next, { ok: true, created: true, task }, task.id);
}

function hasRoomIn(all: readonly TaskRecord[], principal: string | null, quota: Quota): boolean {
  const own = all.filter((task) => task.principal === principal);
  const fits = (tasks: readonly TaskRecord[], { unfinished, retained }: Allowance): boolean =>
    tasks.filter((task) => task.finishedAt === null).length < (unfinished ?? Infinity) &&
    tasks.length < (retained ?? Infinity);
  return fits(all, quota.total) && (principal === null || fits(own, quota.perPrincipal));
}

function change(model: Model, command: ChangeCommand): ModelStep {
  const old = model.tasks.get(command.id);
  if (old === undefined) return refuse(model, "unknown");
  const done = refusal(old, command) ?? effect(old, command);
  if (typeof done === "string") return refuse(model, done);
  const next = done.idle ? old : changed(old, done);
  const accepted = (done.entries ?? []).map(({ key }) => key);
  const more = command.type === "answer_inputs" ? { accepted } : {};
  const result = { ok: true, task: next.task, ...more } as const;
  if (done.idle) return unchanged(model, result);
  return step(put(model, next), result, command.id);
}

/** A crash is the task's fault where its handler ran, and not where it waited. */
function orphaned(old: ModelTask): ModelTask {
  const crashes = old.task.crashes + (old.task.waiting ? 0 : 1);
  return changed(old, { task: { state: "queued", token: null, waiting: false, crashes } });
}

/** Ids of finished (or unfinished) tasks whose time has come, the earliest first. */
export function sweepable(model: Model, finished: boolean, now: number): string[] {
  const all = [...model.tasks.values()].sort(byId).map(({ task }) => task);
  const due = all.filter(({ finishedAt, sweepAt }) => (finishedAt !== null) === finished && sweepAt !== null);
  const inTime = due.filter(({ sweepAt }) => Number(sweepAt) <= now);
  return inTime.sort((a, b) => Number(a.sweepAt) - Number(b.sweepAt)).map(({ id }) => id);
}

export function byId(a: ModelTask, b: ModelTask): number {
  return a.task.id < b.task.id ? -1 : 1;
}

function hasSameKey(task: TaskRecord, { idempotencyKey, principal }: NewTask): boolean {
  return idempotencyKey !== null && task.idempotencyKey === idempotencyKey && task.principal === principal;
}

function hasSameId(task: TaskRecord, { id, generation, scope, wireId }: NewTask): boolean {
  if (task.id === id) return true;
  return task.generation === generation && task.scope === scope && task.wireId === wireId;
}

function put(model: Model, ...tasks: readonly ModelTask[]): Model {
  return {
    ...model,
    tasks: new Map([...model.tasks, ...tasks.map((each) => [each.task.id, each] as const)]),
  };
}

/** A step that changed these tasks, or deleted them. */
function step(model: Model, result: CommandResult, ...ids: readonly string[]): ModelStep {
  const changes = ids.map((id) => ({ id, version: model.tasks.get(id)?.task.version ?? null }));
  return { model, result, changes };
}

function unchanged(model: Model, result: CommandResult): ModelStep {
  return { model, result, changes: [] };
}

function refuse(model: Model, reason: Refusal): ModelStep {
  return unchanged(model, { ok: false, reason });
}
