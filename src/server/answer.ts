import { completeResult, wireError } from "../generation/2026-07-28.ts";
import { isJsonObject, type JsonObject } from "../generation/message.ts";
import type { JsonRpcError, Outcome } from "../task/outcome.ts";
import type { JsonWithBytes } from "./json-with-bytes.ts";

/** What a request is answered with on the wire. */
export type Answer = { readonly result: JsonObject } | { readonly error: JsonRpcError };

/** A result as JSON text, which is not parsed if it can be sent as it is. */
export interface TextAnswer {
  readonly resultText: string | JsonWithBytes;
}

/** A tool's outcome as the direct answer to its call. */
export function answerOf({ kind, body }: Outcome): Answer {
  const parsed: unknown = JSON.parse(body);
  if (kind === "error") return { error: parsed as JsonRpcError };
  return { result: isJsonObject(parsed) ? parsed : {} };
}

/** The same for 2026-07-28, where each result says whether it is complete: equal to the result that a task would contain. */
export function completeAnswerOf(outcome: Outcome): Answer {
  const answer = answerOf(outcome);
  return "result" in answer ? { result: completeResult(answer.result) } : { error: wireError(answer.error) };
}
