/** Nothing that a server says, by mistake or in bad faith, silences a client for longer. */
const longestMs = 3_600_000;

/** What a server asks to be left alone for, in milliseconds: an hour at most, and `undefined` for what is no time. */
export function boundedRetryAfter(ms: unknown): number | undefined {
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0 ? Math.min(ms, longestMs) : undefined;
}
