import type * as graphileWorker from "graphile-worker";
import { HoldfastError } from "../../task/fault.ts";

/** The queue that wakes processes: graphile-worker, an optional dependency. */
export type QueueLibrary = typeof graphileWorker;

/** Undefined if it is not installed; rejects with `configuration` in that case if it was requested. */
export async function loadQueueLibrary(isAskedFor: boolean): Promise<QueueLibrary | undefined> {
  try {
    return await import("graphile-worker");
  } catch (error) {
    if (!isMissing(error)) throw error;
    if (!isAskedFor) return undefined;
    const problem =
      "queue is true, but graphile-worker is not installed. Run: npm install graphile-worker@^0.18.0";
    throw new HoldfastError("configuration", problem, { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  const isUnknown = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
  return isUnknown && error.message.includes("'graphile-worker'");
}
