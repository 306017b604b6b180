import { HoldfastError } from "../../task/fault.ts";
import type { TaskSnapshot } from "../../task/snapshot.ts";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { metaOf, type RelatedTask } from "../meta.ts";
import { readMilliseconds } from "../milliseconds.ts";
import { relatedTask, type relatedTaskKey } from "./related-task.ts";
import { wireTask, type WireTask } from "./wire-task.ts";

/** What a host may tell its model while the task runs (C-026). */
export const immediateResponseKey = "io.modelcontextprotocol/model-immediate-response";

/** How a request asks to become a task. */
export interface TaskParams {
  /** How long the requestor wants the task kept, counted from its creation; whole milliseconds. */
  readonly ttlMs?: number;
}

/**
 * What `params.task` of a request says, or undefined where there is none. The receiver makes up the id, so one that
 * is sent along is passed over with all else that stands there (C-040). Throws `invalid_params`.
 */
export function readTaskParams(params: unknown): TaskParams | undefined {
  const task = isJsonObject(params) ? params["task"] : undefined;
  if (task === undefined) return undefined;
  if (!isJsonObject(task)) throw new HoldfastError("invalid_params", "params.task has to be an object.");
  const { ttl } = task;
  return ttl === undefined ? {} : { ttlMs: readMilliseconds(ttl, "params.task.ttl") };
}

/** The answer to a call that became a task: nested, unlike every other answer that shows one (C-024). */
export interface CreateTaskResult {
  readonly task: WireTask;
  readonly _meta: {
    readonly [immediateResponseKey]?: string;
    readonly [relatedTaskKey]: RelatedTask;
  };
}

/**
 * Every task starts as working (C-042): also the one that a repeated call finds further on, for whoever gets
 * this answer asks for the task next.
 */
export function createTaskResult({ task }: TaskSnapshot, immediateResponse?: string): CreateTaskResult {
  return {
    task: { ...wireTask(task), status: "working" },
    _meta: {
      ...(immediateResponse === undefined ? {} : { [immediateResponseKey]: immediateResponse }),
      ...relatedTask(task.wireId),
    },
  };
}

/** What the server said in `_meta` of its answer, if it said anything. */
export function immediateResponseOf(result: JsonObject): string | undefined {
  const said = metaOf(result)[immediateResponseKey];
  return typeof said === "string" ? said : undefined;
}
