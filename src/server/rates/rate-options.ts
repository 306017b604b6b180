import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames } from "../../task/option-names.ts";

/**
 * Rate limits of one principal; `null`: no limit. For callers without a principal, only the limits on polls of a task and on the load of
 * the process apply.
 */
export interface RateOptions {
  /** `tools/call` of any tool. */
  readonly callsPerMinute: number | null;
  /** `tasks/list`, and calls of `task_list`. */
  readonly listsPerMinute: number | null;
  /**
   * Lookups of unknown tasks and of other principals' tasks, also by polling tools. More are refused for the rest of the minute; lookups of
   * the caller's own tasks never are.
   */
  readonly missesPerMinute: number | null;
  /** `tasks/get` of one task by one principal within the interval that the last answer advertised. */
  readonly pollsPerInterval: number | null;
  /**
   * The event loop delay in milliseconds (90th percentile) above which new calls are refused. Requests about existing tasks
   * are still answered.
   */
  readonly maxLoopDelayMs: number | null;
}

export const defaultRates: RateOptions = {
  callsPerMinute: 6_000,
  listsPerMinute: 600,
  missesPerMinute: 100,
  pollsPerInterval: 20,
  maxLoopDelayMs: 1_000,
};

/** The rates with their defaults. Throws `configuration` for an invalid rate. */
export function resolveRates(given: Partial<RateOptions>): RateOptions {
  assertOptionNames("rates", given, defaultRates);
  const rates = { ...defaultRates, ...given };
  for (const [name, value] of Object.entries(rates)) {
    const fits = value === null || (Number.isSafeInteger(value) && value >= 1);
    if (!fits)
      throw new HoldfastError("configuration", `rates.${name} has to be a whole number from 1 on, or null.`);
  }
  return rates;
}
