import { tell } from "./tell.ts";

const everyMs = 500;

/** From now on, this process tells how far its memory has grown above what it is now, without what is only not collected yet. */
export function tellGrowth(): void {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let peak = 0;
  setInterval(() => {
    globalThis.gc?.();
    const grown = process.memoryUsage.rss() - before;
    if (grown <= peak) return;
    peak = grown;
    tell({ grown });
  }, everyMs).unref();
}
