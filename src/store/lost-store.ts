import { HoldfastError } from "../task/fault.ts";

/** Writes of an owner reject with this after another owner declared it dead. */
export class StoreLost extends HoldfastError {
  /** Whether this process continues once it has rejoined the store. */
  readonly rejoins: boolean;

  constructor(place: string, rejoins: boolean) {
    const then = rejoins ? "This process continues with the tasks that it still has" : "Restart this process";
    super(
      "store_lost",
      `Another process took over the tasks of this one in ${place}, because this one seemed dead. ${then}.`,
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
