import { HoldfastError } from "../task/fault.ts";

/** What the writes of an owner reject with that another one took for dead. */
export function lostStore(place: string): HoldfastError {
  return new HoldfastError(
    "store_lost",
    `${place} was taken from this process, since another one took it for dead, and its tasks are run by others. Restart this process.`,
  );
}

export function isLost(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "store_lost";
}
