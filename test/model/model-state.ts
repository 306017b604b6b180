import type { TaskChange } from "../../src/store/store.ts";
import type { CommandResult, Refusal } from "../../src/task/command.ts";
import type { HandlerName } from "../../src/task/queue.ts";
import type { BulkJob } from "../../src/task/bulk.ts";
import type { ModelTask } from "./model-task.ts";

/** All that a store holds. Never changed: each command gives another one. */
export interface Model {
  readonly tasks: ReadonlyMap<string, ModelTask>;
  readonly secrets: ReadonlyMap<string, string>;
  /** Tools that are paused. */
  readonly paused: readonly string[];
  readonly bulkJobs: ReadonlyMap<string, BulkJob>;
  /** Those that are not forgotten, by id. */
  readonly owners: ReadonlyMap<string, ModelOwner>;
}

export interface ModelOwner {
  readonly handlers: readonly HandlerName[];
  /** It has the store open, and holds its lock. */
  readonly lives: boolean;
  /** Its writes are rejected. */
  readonly fenced: boolean;
  /** Its running tasks are being given back, and any may claim what was queued for it. */
  readonly retired: boolean;
}

/** What a command answers; `rejected` with the code of the fault. */
export type Answer =
  | CommandResult
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: Refusal | "full" }
  | readonly string[]
  | { readonly rejected: string };

export interface ModelStep {
  readonly model: Model;
  readonly answer: Answer;
  readonly changes: readonly TaskChange[];
}

export const emptyModel: Model = {
  tasks: new Map(),
  secrets: new Map(),
  paused: [],
  bulkJobs: new Map(),
  owners: new Map(),
};

export function byId(a: ModelTask, b: ModelTask): number {
  return a.task.id < b.task.id ? -1 : 1;
}

export function put(model: Model, ...tasks: readonly ModelTask[]): Model {
  return {
    ...model,
    tasks: new Map([...model.tasks, ...tasks.map((each) => [each.task.id, each] as const)]),
  };
}

/** A step that changed these tasks, or deleted them. */
export function step(model: Model, answer: Answer, ...ids: readonly string[]): ModelStep {
  const changes = ids.map((id) => ({ id, version: model.tasks.get(id)?.task.version ?? null }));
  return { model, answer, changes };
}

export function unchanged(model: Model, answer: Answer): ModelStep {
  return { model, answer, changes: [] };
}

export function refuse(model: Model, reason: Refusal | "full"): ModelStep {
  return unchanged(model, { ok: false, reason });
}
