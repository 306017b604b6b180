import { settingsOf } from "../../src/store/postgres/options.ts";
import { isUrl } from "../places/store-at.ts";
import type { LogLine } from "./log.ts";
import type { Span } from "./pace.ts";

/** Of its lease, what a process may have left when it is stopped: it renews that each second, and a busy machine delays it. */
const leastOfLease = 0.8;
/** In less time a process that goes on has maybe not renewed its lease. */
const tooShortMs = 1_000;

/** How long a process stands still, at least, whose tasks others may take: for ever where they see that it is there. */
export function longestStandstillMs(at: string): number {
  return isUrl(at) ? settingsOf(at, {}).leaseMs * leastOfLease : Number.POSITIVE_INFINITY;
}

/** When a process stood still, by what was done to it. That it went on for a moment is no end of that. */
export function standstills(events: readonly Pick<LogLine, "event" | "at">[]): readonly Span[] {
  const spans: Span[] = [];
  for (const { event, at } of events) {
    const last = spans.at(-1);
    const stands = last?.until === Number.POSITIVE_INFINITY;
    if (event === "stopped" && !stands) {
      const isSame = last !== undefined && at - last.until < tooShortMs;
      spans.splice(isSame ? -1 : spans.length, 1, {
        since: isSame ? last.since : at,
        until: Number.POSITIVE_INFINITY,
      });
    } else if ((event === "continued" || event === "killed") && stands)
      spans.splice(-1, 1, { since: last.since, until: at });
  }
  return spans;
}
