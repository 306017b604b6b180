/** How long a task waits after repeated crashes. Times are in milliseconds. */
export interface CrashBackoff {
  /** After the second crash; doubles with each further one. */
  readonly baseMs: number;
  readonly maxMs: number;
  /** After this many crashes in a row the task is given up, without a wait. */
  readonly maxCrashes: number;
}

/** The first crash causes no pause, so that work continues as soon as a process is available. */
export function crashPause(crashes: number, { baseMs, maxMs, maxCrashes }: CrashBackoff): number {
  return crashes < 2 || crashes >= maxCrashes ? 0 : Math.min(baseMs * 2 ** (crashes - 2), maxMs);
}
