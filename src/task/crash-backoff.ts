/** How long a task waits that crashed more than once in a row. Times are in milliseconds. */
export interface CrashBackoff {
  /** After the second crash; it doubles with each further one. */
  readonly baseMs: number;
  readonly maxMs: number;
  /** From so many crashes in a row on the task is given up, for which it need not wait. */
  readonly maxCrashes: number;
}

/** The first crash causes no pause, so that work continues as soon as a process is available. */
export function crashPause(crashes: number, { baseMs, maxMs, maxCrashes }: CrashBackoff): number {
  return crashes < 2 || crashes >= maxCrashes ? 0 : Math.min(baseMs * 2 ** (crashes - 2), maxMs);
}
