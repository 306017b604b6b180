import type { TimeSpan } from "../../task/time.ts";
import { number, tableOf, time, type Settings } from "../../options/options.ts";

class DeclaredRateOptions {
  /** Maximum number of `tools/call` of one principal in a minute. `null`: no limit. Default 6,000. */
  readonly callsPerMinute?: number | null = number({
    min: 1,
    orNull: true,
    default: 6_000,
    variable: "HOLDFAST_CALLS_PER_MINUTE",
  });
  /** The same for `tasks/list`, together with calls of `task_list`. Default 600. */
  readonly listsPerMinute?: number | null = number({
    min: 1,
    orNull: true,
    default: 600,
    variable: "HOLDFAST_LISTS_PER_MINUTE",
  });
  /**
   * Maximum number of lookups in a minute of tasks that do not exist or belong to other principals, also by polling tools. More are refused
   * for the rest of the minute; lookups of the caller's own tasks never are. `null`: no limit. Default 100.
   */
  readonly missesPerMinute?: number | null = number({
    min: 1,
    orNull: true,
    default: 100,
    variable: "HOLDFAST_MISSES_PER_MINUTE",
  });
  /**
   * Maximum number of `tasks/get`, and of `tasks/result`, of one task by one principal within the poll interval that the last answer
   * advertised. `null`: no limit. Default 20.
   */
  readonly pollsPerInterval?: number | null = number({
    min: 1,
    orNull: true,
    default: 20,
    variable: "HOLDFAST_POLLS_PER_INTERVAL",
  });
  /**
   * The delay of the event loop (90th percentile) above which the process refuses new calls. It still answers requests about existing
   * tasks. `null`: no limit. Default 1 second.
   */
  readonly maxLoopDelayMs?: TimeSpan | null = time({
    min: 1,
    orNull: true,
    default: 1_000,
    variable: "HOLDFAST_MAX_LOOP_DELAY",
  });
}

/** Rate limits of one principal. For callers without a principal, only the limits on polls of a task and on the load of the process apply. */
export interface RateOptions extends DeclaredRateOptions {}

export const rateOptions = tableOf<RateOptions>(DeclaredRateOptions);

export type RateSettings = Settings<RateOptions>;
