import type { ClientClock } from "../clock.ts";
import type { Reply } from "../reply/reply.ts";
import { isUnknown } from "../task/poll-loop.ts";
import type { OpenCall } from "./open-calls.ts";

const firstMs = 1_000;
/** With doubling pauses, the last one is after two minutes: what is no task by then answers without one. */
const mostLooks = 7;

/**
 * Looks for the task of a call of which nobody can tell, since its answer is not begun: over HTTP, where a server answers
 * with JSON alone (S-018). Resolves with true once it is there, and with false where looking is of no use (any more).
 */
export async function lookEarly(
  { request }: OpenCall,
  look: () => Promise<Reply<unknown>>,
  clock: ClientClock,
  signal: AbortSignal,
): Promise<boolean> {
  for (let looks = 0; looks < mostLooks; looks++) {
    if (request.hears) return false; // it will say so by itself (S-017)
    await clock.sleep(firstMs * 2 ** looks, signal);
    if (request.hears) return false;
    const found = await look();
    if (found.kind === "value") return true;
    if (found.kind === "bad" || (found.kind === "error" && !isUnknown(found))) return false;
  }
  return false;
}
