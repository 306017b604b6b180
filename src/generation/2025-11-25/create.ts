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
  /** How long the requestor wants the task kept from its creation; whole milliseconds. */
  readonly ttlMs?: number;
}

/**
 * Reads `params.task` of a request; undefined if there is none. The receiver generates the id, so an id in the request is ignored, like all
 * other members (C-040). Throws `invalid_params`.
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

/** Always `working` (C-042), also if a repeated call finds a task that has moved on: the caller gets the task next anyway. */
export function createTaskResult({ task }: TaskSnapshot, immediateResponse?: string): CreateTaskResult {
  return {
    task: { ...wireTask(task), status: "working" },
    _meta: {
      ...(immediateResponse === undefined ? {} : { [immediateResponseKey]: immediateResponse }),
      ...relatedTask(task.wireId),
    },
  };
}

/** The server's immediate response in `_meta` of its answer, if there is one. */
export function immediateResponseOf(result: JsonObject): string | undefined {
  const said = metaOf(result)[immediateResponseKey];
  return typeof said === "string" ? said : undefined;
}
