import { HoldfastError } from "../../task/fault.ts";
import type { Quota } from "../../task/quota.ts";
import type { RuntimeOptions } from "../options.ts";

/** Where there is no room, another try makes sense after this time, in ms. */
const retryAfterMs = 5_000;

export function quotaOf(options: RuntimeOptions): Quota {
  return {
    perPrincipal: {
      unfinished: options.maxUnfinishedPerPrincipal,
      retained: options.maxRetainedPerPrincipal,
    },
    total: { unfinished: options.maxUnfinished, retained: options.maxRetained },
  };
}

/** Who is told does not hear whose tasks fill the server. */
export function noRoom(): HoldfastError {
  return new HoldfastError(
    "limit_reached",
    "There are too many tasks. Try again when some have ended and been deleted.",
    { data: { retryAfterMs } },
  );
}
