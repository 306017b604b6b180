import type { Progress } from "../../task/record.ts";

/** What a handler changes of its task. */
export interface HandlerChanges {
  readonly statusMessage?: string;
  readonly ttlMs?: number | null;
  readonly pollIntervalMs?: number;
}

/** What a handler changes of its task, or a TypeError: a value of another kind could never be stored. */
export function checkedChanges(changes: HandlerChanges, maxBytes: number): HandlerChanges {
  const { statusMessage, ttlMs, pollIntervalMs } = changes;
  if (statusMessage !== undefined) assertText("A status", statusMessage, maxBytes);
  if (ttlMs !== undefined && ttlMs !== null) assertWholeMs("A ttl", ttlMs);
  if (pollIntervalMs !== undefined) assertWholeMs("A poll interval", pollIntervalMs);
  return changes;
}

export function checkedProgress(progress: Progress, maxBytes: number): Progress {
  for (const number of [progress.progress, progress.total ?? 0]) {
    if (!Number.isFinite(number))
      throw new TypeError(`Progress has to be a finite number, not ${String(number)}.`);
  }
  if (progress.message !== undefined) assertText("A progress message", progress.message, maxBytes);
  return progress;
}

function assertText(what: string, text: unknown, maxBytes: number): void {
  if (typeof text !== "string") throw new TypeError(`${what} has to be a string, not ${typeof text}.`);
  if (Buffer.byteLength(text) > maxBytes) throw new RangeError(`${what} is larger than ${maxBytes} bytes.`);
}

function assertWholeMs(what: string, ms: unknown): void {
  if (Number.isSafeInteger(ms) && Number(ms) >= 0) return;
  throw new RangeError(`${what} has to be a whole number of milliseconds from 0 on, not ${String(ms)}.`);
}
