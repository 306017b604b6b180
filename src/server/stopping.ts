import { HoldfastError } from "../task/fault.ts";
import { waitFor } from "../runtime/wait-for.ts";

/** Whether `error` only says that this server is about to end. */
export function isStopping(error: unknown): boolean {
  return error instanceof HoldfastError && (error.code === "stopping" || error.code === "store_closed");
}

/** Rejects with the signal's reason once it aborts, and never resolves. */
export function untilCut(signal: AbortSignal): Promise<never> {
  return waitFor(() => () => undefined, signal) as Promise<never>;
}
