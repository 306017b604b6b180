import type { ClientClock } from "../clock.ts";
import { retryDelay } from "../task/pacing.ts";
import type { LostReply, Reply } from "./reply.ts";

interface PersistOptions {
  /** Only a lost reply that this accepts is tried again, another one is returned. Default: all are. */
  readonly mayRepeat?: (reply: LostReply) => boolean;
  /** Told of each pause before the next try. */
  readonly onPause?: (ms: number, reply: LostReply) => void;
}

/** Sends a request until it is answered, with growing pauses and no limit but the signal. */
export async function persist<Value>(
  send: () => Promise<Reply<Value>>,
  clock: ClientClock,
  signal: AbortSignal,
  { mayRepeat = () => true, onPause }: PersistOptions = {},
): Promise<Reply<Value>> {
  for (let failures = 1; ; failures++) {
    const reply = await send();
    if (reply.kind !== "lost" || !mayRepeat(reply)) return reply;
    const pause = retryDelay(failures, clock.random(), reply.retryAfterMs);
    onPause?.(pause, reply);
    await clock.sleep(pause, signal);
  }
}
