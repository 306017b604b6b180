import type { ClientClock } from "../clock.ts";
import { retryDelay } from "../task/pacing.ts";
import type { LostReply, Reply } from "./reply.ts";

/**
 * Sends a request until it is answered, with growing pauses and no limit but the signal. Only a lost reply that
 * `mayRepeat` accepts is tried again; another one is returned.
 */
export async function persist<Value>(
  send: () => Promise<Reply<Value>>,
  clock: ClientClock,
  signal: AbortSignal,
  mayRepeat: (reply: LostReply) => boolean = () => true,
): Promise<Reply<Value>> {
  for (let failures = 1; ; failures++) {
    const reply = await send();
    if (reply.kind !== "lost" || !mayRepeat(reply)) return reply;
    await clock.sleep(retryDelay(failures, clock.random(), reply.retryAfterMs), signal);
  }
}
