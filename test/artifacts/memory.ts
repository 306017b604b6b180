import { tell } from "./tell.ts";

const everyMs = 50;

/** From now on, this process tells how far its memory has grown above what it is now, with the garbage that it leaves. */
export function tellGrowth(): void {
  const before = process.memoryUsage.rss();
  let peak = 0;
  setInterval(() => {
    const grown = process.memoryUsage.rss() - before;
    if (grown <= peak) return;
    peak = grown;
    tell({ grown });
  }, everyMs).unref();
}
