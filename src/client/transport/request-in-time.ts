import type { JsonObject } from "../../generation/json-object.ts";
import type { ClientClock } from "../clock.ts";
import { laterIfAsked } from "../reply/later.ts";
import type { Reply } from "../reply/reply.ts";
import type { RawRequestOptions } from "./raw-request.ts";
import type { RawRequester } from "./raw-requester.ts";
import { SilenceLimit } from "./silence-limit.ts";

/** How long a server may be silent that is asked for what is there. A call may take as long as its tool does. */
const usualMs = 30_000;

/** Sends a request that a server answers at once; when nothing arrives for too long, its reply is lost. */
export async function requestInTime(
  { requester, clock }: { readonly requester: RawRequester; readonly clock: ClientClock },
  method: string,
  params: Record<string, unknown>,
  signal: AbortSignal,
  options: Pick<RawRequestOptions, "headers"> = {},
): Promise<Reply<JsonObject>> {
  const limit = new SilenceLimit(clock, usualMs);
  const either = AbortSignal.any([signal, limit.signal]);
  try {
    const onPart = (): void => limit.heard();
    return laterIfAsked(await requester.request(method, params, either, { ...options, onPart }));
  } catch (cause) {
    if (signal.aborted || !limit.signal.aborted) throw cause;
    const message = `The server sent nothing for ${usualMs / 1000} seconds in answer to ${method}`;
    return { kind: "lost", notReceived: false, retryAfterMs: undefined, message, cause, error: undefined };
  } finally {
    limit.clear();
  }
}
