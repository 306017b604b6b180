import { isJsonObject, type JsonObject } from "./json-object.ts";

/** What params or a result have in `_meta`; nothing where they have none. */
export function metaOf(object: unknown): JsonObject {
  const meta = isJsonObject(object) ? object["_meta"] : undefined;
  return isJsonObject(meta) ? meta : {};
}

/** Params or a result with more in `_meta`: all members stay as they are, and what is added wins over what is there. */
export function withMeta(object: JsonObject, added: JsonObject): JsonObject {
  return { ...object, _meta: { ...metaOf(object), ...added } };
}

/** The task that a message names in `_meta`, under the key of its generation. */
export interface RelatedTask {
  readonly taskId: string;
}

/** The id of the task that params or a result name under `key` in `_meta`, if they name one. */
export function relatedTaskIn(object: unknown, key: string): string | undefined {
  const related = metaOf(object)[key];
  const taskId = isJsonObject(related) ? related["taskId"] : undefined;
  return typeof taskId === "string" ? taskId : undefined;
}
