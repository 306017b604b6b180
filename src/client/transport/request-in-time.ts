import type { JsonObject } from "../../generation/json-object.ts";
import type { ClientClock } from "../clock.ts";
import { laterIfAsked } from "../reply/later.ts";
import type { Reply } from "../reply/reply.ts";
import type { RawRequester } from "./raw-requester.ts";

/** What a request may take that is not the work itself. A call may take as long as its tool does. */
const usualMs = 30_000;

/** Sends a request that a server answers at once; without an answer in time its reply is lost. */
export async function requestInTime(
  { requester, clock }: { readonly requester: RawRequester; readonly clock: ClientClock },
  method: string,
  params: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Reply<JsonObject>> {
  const deadline = clock.deadline(usualMs);
  try {
    return laterIfAsked(await requester.request(method, params, AbortSignal.any([signal, deadline.signal])));
  } catch (cause) {
    if (signal.aborted || !deadline.signal.aborted) throw cause;
    const message = `The server did not answer ${method} within ${usualMs / 1000} seconds`;
    return { kind: "lost", notReceived: false, retryAfterMs: undefined, message, cause, error: undefined };
  } finally {
    deadline.clear();
  }
}
