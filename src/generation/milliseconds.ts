import { HoldfastError } from "../task/fault.ts";

/** A hundred years: with a longer life the end of a task would be no time that a store can hold exactly. */
const longestMs = 100 * 365 * 24 * 60 * 60 * 1000;

/**
 * How long a requestor wants its task kept, in whole milliseconds; receivers may override it (C-103, S-073). `name` is
 * what stands in the request; throws `invalid_params` for what is no number from 0 on.
 */
export function readMilliseconds(value: unknown, name: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new HoldfastError("invalid_params", `${name} has to be a number of milliseconds from 0 on.`);
  }
  return Math.min(Math.ceil(value), longestMs);
}
