import type { JsonObject } from "../../generation/message.ts";
import type { ClientClock } from "../clock.ts";
import { isUnknown, type Reply } from "../reply/reply.ts";
import type { OpenCall } from "./open-calls.ts";

interface StartServices {
  readonly clock: ClientClock;
  /** Reads the task once. */
  readonly getTask: (signal: AbortSignal) => Promise<Reply<unknown>>;
}

/**
 * Waits for the first of: the answer to a call, or a message that it became a task (S-016). If that message is
 * lost, the answer comes later (S-019). Rejects with the reason of the signal or of the connection's end.
 */
export async function waitForStart(
  call: OpenCall,
  { clock, getTask }: StartServices,
  signal: AbortSignal,
): Promise<Reply<JsonObject> | "created"> {
  signal.throwIfAborted();
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  const { promise: found, resolve: find } = Promise.withResolvers<"created">();
  probeForTask(call, async () => getTask(either), clock, either).then(
    (isThere) => isThere && find("created"),
    () => undefined, // the call was answered first
  );
  try {
    return await Promise.race([call.reply, call.created.then(() => "created" as const), found, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    over.abort(new Error("The call was answered"));
  }
}

const firstMs = 1_000;
/** With doubling pauses, the last probe is after two minutes: a call that is no task by then will not become one. */
const maxProbes = 7;

/**
 * Probes for the task of a call over HTTP that has no stream, since the server answers with plain JSON and cannot
 * announce the task (S-018). Resolves with true once the task exists, and with false if probing is no longer
 * useful.
 */
export async function probeForTask(
  { request }: OpenCall,
  getTask: () => Promise<Reply<unknown>>,
  clock: ClientClock,
  signal: AbortSignal,
): Promise<boolean> {
  for (let probes = 0; probes < maxProbes; probes++) {
    if (request.streams) return false; // the server announces the task on the stream (S-017)
    await clock.sleep(firstMs * 2 ** probes, signal);
    if (request.streams) return false;
    const found = await getTask();
    if (found.kind === "value") return true;
    if (found.kind === "bad" || (found.kind === "error" && !isUnknown(found))) return false;
  }
  return false;
}
