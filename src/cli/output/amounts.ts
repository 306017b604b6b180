import { duration } from "../terminal/text.ts";

const units = ["KiB", "MiB", "GiB", "TiB"] as const;

/** A number of bytes for people: `512 bytes`, `1.5 MiB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1] ?? ""}`;
}

/** `1 task`, `12 tasks` */
export function tasksText(count: number): string {
  return `${count} ${count === 1 ? "task" : "tasks"}`;
}

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
