import { encodeJournalKey } from "../task/journal.ts";
import type { JsonObject } from "./json-object.ts";
import { metaOf, withMeta } from "./meta.ts";

/**
 * The key in `_meta` of a question sent as its own request. It holds the question's key in its task, which stays the same however often,
 * and by whichever process, the question is asked again. The task is the request's related task. It does not say who may answer.
 */
export const questionKeyMeta = "holdfast/questionKey";

/** The key in `_meta` with which a question says why the last answer was refused. */
export const refusedMeta = "holdfast/refused";

/**
 * The name of a question that is asked again after this many refused answers. It differs each time: a client that stores answers by name
 * would send the refused one again.
 */
export function questionName(key: string, refusals: number): string {
  return refusals === 0 ? key : encodeJournalKey([refusedMeta, key, refusals]);
}

/** The params of a question, with its name. */
export function withQuestionKey(params: JsonObject, key: string): JsonObject {
  return withMeta(params, { [questionKeyMeta]: key });
}

/** The name of a question, if its server sets names. */
export function questionKeyOf(params: unknown): string | undefined {
  const key = metaOf(params)[questionKeyMeta];
  return typeof key === "string" && key !== "" ? key : undefined;
}
