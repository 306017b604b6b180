import type { JsonObject } from "../../generation/json-object.ts";
import type { ClientClock } from "../clock.ts";
import type { Reply } from "../reply/reply.ts";
import { lookEarly } from "./early-looks.ts";
import type { OpenCall } from "./open-calls.ts";

interface RaceServices {
  readonly clock: ClientClock;
  /** Asks the server for the task, once. */
  readonly look: (signal: AbortSignal) => Promise<Reply<unknown>>;
}

/**
 * What comes first of a call: its answer, or word that it became a task (S-016). A lost word is made up for by the answer
 * (S-019). Rejects with the signal's reason, and with that of a connection that is over.
 */
export async function startRace(
  call: OpenCall,
  { clock, look }: RaceServices,
  signal: AbortSignal,
): Promise<Reply<JsonObject> | "created"> {
  signal.throwIfAborted();
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  const { promise: found, resolve: find } = Promise.withResolvers<"created">();
  lookEarly(call, async () => look(either), clock, either).then(
    (isThere) => isThere && find("created"),
    () => undefined, // the race is over
  );
  try {
    return await Promise.race([call.reply, call.created.then(() => "created" as const), found, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    over.abort(new Error("The call was answered"));
  }
}
