import { encodeJournalKey } from "../task/journal.ts";
import type { JsonObject } from "./json-object.ts";
import { metaOf, withMeta } from "./meta.ts";

/**
 * Where a server puts in `_meta` of a question that is a request of its own which question of its task it is: the key
 * that names it for the whole life of the task, however often it is asked again, by whichever process. The task is the
 * one that the request relates to. It says nothing about who may answer.
 */
export const questionKeyMeta = "holdfast/questionKey";

/** Where a question says in `_meta` why the last answer to it was refused. */
export const refusedMeta = "holdfast/refused";

/**
 * The name of a question that is put again after so many refused answers. It is another one each time: whoever keeps answers by
 * their names would give the refused one again.
 */
export function questionName(key: string, refusals: number): string {
  return refusals === 0 ? key : encodeJournalKey([refusedMeta, key, refusals]);
}

/** The params of a question, with its name. */
export function withQuestionKey(params: JsonObject, key: string): JsonObject {
  return withMeta(params, { [questionKeyMeta]: key });
}

/** The name of a question, if its server gives names. */
export function questionKeyOf(params: unknown): string | undefined {
  const key = metaOf(params)[questionKeyMeta];
  return typeof key === "string" && key !== "" ? key : undefined;
}
