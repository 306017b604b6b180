import { setImmediate } from "node:timers/promises";
import { summedByTool, type QueueLength } from "../queue-length.ts";

/** What `next` returns until there is no more, one in each turn of the event loop: to count a million tasks takes seconds, and requests wait meanwhile. */
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
