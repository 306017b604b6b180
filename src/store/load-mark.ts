import { HoldfastError } from "../task/fault.ts";

/** How far a load has come. */
export interface LoadMark {
  /** The dump that is being loaded, or was loaded last. */
  readonly dump: string;
  /** The number of its lines that are in the store; 0: tasks may still have to be removed for it; null: all are. */
  readonly lines: number | null;
}

/** Throws `store_locked` for a server while a dump is being loaded. */
export function refuseWhileLoading(place: string, isLoading: boolean): void {
  if (!isLoading) return;
  throw new HoldfastError(
    "store_locked",
    `${place} is not complete: a dump is being loaded into it, or was loaded with --partial. Servers can open it once "holdfast admin STORE load FILE", without --partial, has finished.`,
  );
}

/** Another process has written since. */
export function otherLoad(): HoldfastError {
  return new HoldfastError(
    "store_locked",
    "Another process loads a dump into this store. Let it finish, or stop it and run the command again.",
  );
}

/** There is something in the store. */
export function notEmpty(place: string): HoldfastError {
  return new HoldfastError(
    "configuration",
    `${place} already has tasks, sessions or words of operators, and a dump can only be loaded into an empty store. Choose another one.`,
  );
}
