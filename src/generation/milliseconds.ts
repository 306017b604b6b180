import { HoldfastError } from "../task/fault.ts";

/** A hundred years: with a longer life, a store could not hold the end of the task exactly. */
const longestMs = 100 * 365 * 24 * 60 * 60 * 1000;

/**
 * How long a requestor wants its task kept, in whole milliseconds; receivers may override it (C-103, S-073). `name` is the member's name in
 * the request. Throws `invalid_params` unless it is a number from 0 up.
 */
export function readMilliseconds(value: unknown, name: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new HoldfastError("invalid_params", `${name} has to be a number of milliseconds from 0 on.`);
  }
  return Math.min(Math.ceil(value), longestMs);
}
