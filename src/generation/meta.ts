import { isJsonObject, type JsonObject } from "./json-object.ts";

/** The `_meta` of params or a result; empty if there is none. */
export function metaOf(object: unknown): JsonObject {
  const meta = isJsonObject(object) ? object["_meta"] : undefined;
  return isJsonObject(meta) ? meta : {};
}

/** Params or a result with more in `_meta`. All members stay unchanged; added ones replace existing ones. */
export function withMeta(object: JsonObject, added: JsonObject): JsonObject {
  return { ...object, _meta: { ...metaOf(object), ...added } };
}

/** The task that a message names in `_meta`, under its generation's key. */
export interface RelatedTask {
  readonly taskId: string;
}

/** The id of the task that params or a result name under `key` in `_meta`, if they name one. */
export function relatedTaskIn(object: unknown, key: string): string | undefined {
  const related = metaOf(object)[key];
  const taskId = isJsonObject(related) ? related["taskId"] : undefined;
  return typeof taskId === "string" ? taskId : undefined;
}
