import { setImmediate } from "node:timers/promises";
import { summedByTool, type QueueLength } from "../queue-length.ts";

/**
 * Calls `next` until there is no more, once in each turn of the event loop: counting a million tasks takes seconds, and would block
 * requests.
 */
export async function lengthsInTurns(
  next: () => Promise<IteratorResult<QueueLength>>,
): Promise<readonly QueueLength[]> {
  const lengths: QueueLength[] = [];
  for (let read = await next(); read.done !== true; read = await next()) {
    lengths.push(read.value);
    await setImmediate();
  }
  return summedByTool(lengths);
}
