import { setTimeout as pause } from "node:timers/promises";
import { pauseMs } from "./pause-ms.ts";
import { loadReadLog } from "./read-log.ts";

const lookAgainMs = 5;

/** Resolves when the read of a file has just begun, or when none is left: a kill now hits a read in progress. */
export async function untilReading(readLog: string, total: number): Promise<void> {
  // The shortest pause of a read is half the average: a read that began so recently is certainly in progress.
  const youngMs = pauseMs(total) / 4;
  for (;;) {
    const begun = loadReadLog(readLog).filter(({ event }) => event === "begin");
    if (begun.length >= total || begun.some(({ at }) => Date.now() - at < youngMs)) return;
    await pause(lookAgainMs);
  }
}
