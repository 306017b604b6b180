import { duration } from "../terminal/status-line.ts";

/** A time for people, to the second: `2026-11-23 14:05:09Z`. */
export function timeText(ms: number): string {
  if (!(Math.abs(ms) <= 8.64e15)) return "no limit";
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

/** A duration, with milliseconds below ten seconds: `0.25s`, `3m 05s`. */
export function spanText(ms: number): string {
  if (ms >= 10_000) return duration(ms);
  return `${Number((Math.max(0, ms) / 1_000).toFixed(ms < 1_000 ? 3 : 1))}s`;
}
