import { setTimeout as pause } from "node:timers/promises";
import { pauseMs } from "./pause-ms.ts";
import { loadReadLog } from "./read-log.ts";

const lookAgainMs = 5;

/** Resolves when a read of `total` files has just begun, or nothing is left to begin: a kill now finds it in flight. */
export async function untilReading(readLog: string, total: number): Promise<void> {
  // The shortest pause of a read is half the average; a read this young is certainly in it.
  const youngMs = pauseMs(total) / 4;
  for (;;) {
    const begun = loadReadLog(readLog).filter(({ event }) => event === "begin");
    if (begun.length >= total || begun.some(({ at }) => Date.now() - at < youngMs)) return;
    await pause(lookAgainMs);
  }
}
