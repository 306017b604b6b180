import { isJsonObject } from "../../generation/json-object.ts";
import type { Reply } from "./reply.ts";
import { boundedRetryAfter } from "./retry-after.ts";

/** What Holdfast servers answer to too much, or too fast. */
const limitCode = -32000;

/** An error that asks to come back later is no answer yet; the same as HTTP 429. */
export function laterIfAsked<Value>(reply: Reply<Value>): Reply<Value> {
  if (reply.kind !== "error" || reply.error.code !== limitCode) return reply;
  const { error } = reply;
  const retryAfterMs = isJsonObject(error.data) ? boundedRetryAfter(error.data["retryAfterMs"]) : undefined;
  if (retryAfterMs === undefined) return reply;
  return { kind: "lost", notReceived: true, retryAfterMs, message: error.message, cause: undefined, error };
}
