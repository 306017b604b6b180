import { millisecondsOf, storable, type TimeSpan } from "../task/time.ts";

/**
 * The first whole epoch millisecond by which `ms` milliseconds have passed, or the latest time that stores can hold. They hold no
 * fractions.
 */
export function deadlineAfter(now: number, ms: number): number {
  return storable(Math.ceil(now + ms));
}

/** When a wait ends that begins now (epoch ms). Throws for an invalid length of time, and for an invalid date. */
export function endOf(time: TimeSpan | Date, now: number): number {
  if (!(time instanceof Date)) return deadlineAfter(now, millisecondsOf(time));
  const at = time.getTime();
  if (Number.isNaN(at)) throw new TypeError("The date to wait for is invalid.");
  return at;
}
