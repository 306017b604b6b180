import { HoldfastError } from "../../task/fault.ts";
import type { Quota } from "../../task/queue.ts";
import type { RuntimeSettings } from "../options.ts";

/** When to try again if a limit is reached, in ms. */
const retryAfterMs = 5_000;

export function quotaOf(options: RuntimeSettings): Quota {
  return {
    perPrincipal: {
      unfinished: options.maxUnfinishedPerPrincipal,
      retained: options.maxRetainedPerPrincipal,
    },
    total: { unfinished: options.maxUnfinished, retained: options.maxRetained },
  };
}

/** The message does not reveal whose tasks fill the server. */
export function quotaExceeded(): HoldfastError {
  return new HoldfastError(
    "limit_reached",
    "There are too many tasks. Try again once some have ended and been deleted.",
    { data: { retryAfterMs } },
  );
}
