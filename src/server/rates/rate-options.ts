import { HoldfastError } from "../../task/fault.ts";

/**
 * How fast one principal may be; null: as fast as it likes. Callers who are not told apart are nobody: of these, only
 * the polls of a task and the load of the process bound them.
 */
export interface RateOptions {
  /** `tools/call` of any tool. */
  readonly callsPerMinute: number | null;
  /** `tasks/list`, and calls of `task_list`. */
  readonly listsPerMinute: number | null;
  /**
   * Lookups of tasks that are not there, or not the caller's, by companion tools too; more are refused for the rest of the
   * minute. What asks for the caller's own tasks is not.
   */
  readonly missesPerMinute: number | null;
  /** `tasks/get` of one task by one principal in the interval that its last answer advertised (C-123). */
  readonly pollsPerInterval: number | null;
  /**
   * How late the process may be, in ms, before it takes no new calls: nine tenths of its timers are less late. It goes
   * on answering for the tasks that it has.
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

/** The rates with their defaults; throws `configuration` for what is no rate. */
export function resolveRates(given: Partial<RateOptions>): RateOptions {
  const rates = { ...defaultRates, ...given };
  for (const [name, value] of Object.entries(rates)) {
    const fits = value === null || (name in defaultRates && Number.isSafeInteger(value) && value >= 1);
    if (!fits)
      throw new HoldfastError("configuration", `rates.${name} has to be a whole number from 1 on, or null.`);
  }
  return rates;
}
