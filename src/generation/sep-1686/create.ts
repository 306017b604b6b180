import { HoldfastError } from "../../task/fault.ts";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { metaOf, withMeta } from "../meta.ts";
import { readMilliseconds } from "../milliseconds.ts";

/** The key in `_meta` with which a request asks to become a task (S-006). */
export const taskKey = "modelcontextprotocol.io/task";

/** In UTF-16 code units: far more than any id needs, and short enough to store as a name. */
const longestId = 1_024;

/** How a request asks to become a task. */
export interface TaskParams {
  /** Chosen by the requestor (S-007). */
  readonly taskId: string;
  /** How long the requestor wants the task kept after its end; whole milliseconds (S-008). */
  readonly keepAliveMs?: number;
}

/** Whether a request asks to become a task; `readTaskParams` checks whether the params are valid. */
export function asksForTask(params: unknown): boolean {
  return metaOf(params)[taskKey] !== undefined;
}

/** The task that a request asks to become, or undefined if it asks for none; throws `invalid_params` (S-020). */
export function readTaskParams(params: unknown): TaskParams | undefined {
  const task = metaOf(params)[taskKey];
  if (task === undefined) return undefined;
  const { taskId, keepAlive } = isJsonObject(task) ? task : {};
  if (typeof taskId !== "string" || taskId === "" || taskId.length > longestId) {
    const problem = `_meta["${taskKey}"] needs a taskId, a string of 1 to ${longestId} characters.`;
    throw new HoldfastError("invalid_params", problem);
  }
  if (keepAlive === undefined) return { taskId };
  return { taskId, keepAliveMs: readMilliseconds(keepAlive, `_meta["${taskKey}"].keepAlive`) };
}

/** Params that ask for a task with an id that the requestor chose. */
export function withTask(params: JsonObject, { taskId, keepAliveMs }: TaskParams): JsonObject {
  const keepAlive = keepAliveMs === undefined ? {} : { keepAlive: keepAliveMs };
  return withMeta(params, { [taskKey]: { taskId, ...keepAlive } });
}

/** The same params without the request for a task. */
export function withoutTask(params: JsonObject): JsonObject {
  const meta = params["_meta"];
  if (!isJsonObject(meta) || !Object.hasOwn(meta, taskKey)) return params;
  const { [taskKey]: _unasked, ...others } = meta;
  return { ...params, _meta: others };
}
