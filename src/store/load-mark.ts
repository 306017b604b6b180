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

/** The tables of a store are not those of this version. The parts are such as "column cause of task". */
export function otherTables(
  place: string,
  missing: readonly string[],
  unknown: readonly string[],
): HoldfastError {
  const few = missing.length > 4 ? [...missing.slice(0, 3), `${missing.length - 3} more`] : missing;
  const problems = [
    ...(few.length > 0 ? [`lacks ${few.join(", ")}`] : []),
    ...(unknown.length > 0
      ? [`needs values for what this version does not know: ${unknown.join(", ")}`]
      : []),
  ];
  return new HoldfastError(
    "store_unusable",
    `${place} ${problems.join(", and ")}: another version of Holdfast made its tables, or they are damaged. Use the version that made them: a dump of that one can be loaded into a new store of this one. Or restore a backup.`,
  );
}
