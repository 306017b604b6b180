import { HoldfastError } from "../task/fault.ts";

/** Writes of an owner reject with this after another owner took it for dead. */
export class StoreLost extends HoldfastError {
  /** Whether this process continues once it has rejoined the store. */
  readonly rejoins: boolean;

  constructor(place: string, rejoins: boolean) {
    const then = rejoins ? "It goes on with what is left to it" : "Restart this process";
    super(
      "store_lost",
      `${place} was taken from this process, since another one took it for dead, and its tasks are run by others. ${then}.`,
    );
    this.rejoins = rejoins;
  }
}

/** Whether the store is lost for good. */
export function isLost(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "store_lost" && !willRejoin(error);
}

/** Whether the same call may succeed later. */
export function isPassing(error: unknown): boolean {
  return error instanceof HoldfastError && (error.code === "store_failed" || willRejoin(error));
}

function willRejoin(error: HoldfastError): boolean {
  return error instanceof StoreLost && error.rejoins;
}
