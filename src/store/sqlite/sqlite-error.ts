import { HoldfastError } from "../../task/fault.ts";
import { isNoValue } from "../row.ts";
import { extendedCode, primaryCode, sqliteCode } from "./connect.ts";

/** Whether a row was refused because its key is taken. */
export function isKeyTaken(error: unknown): boolean {
  const code = extendedCode(error);
  return code === 1555 || code === 2067 || code === 2579; // PRIMARYKEY, UNIQUE, ROWID
}

/** Whether a number does not fit into an integer column. */
export function isOutOfRange(error: unknown): boolean {
  return extendedCode(error) === 3091; // CONSTRAINT_DATATYPE
}

const faultsOfOneStatement: ReadonlySet<number> = new Set([
  sqliteCode.error,
  sqliteCode.tooBig,
  sqliteCode.constraint,
  sqliteCode.mismatch,
  sqliteCode.range,
]);

/** Whether an error concerns only one statement's data, not the file, disk or memory. */
export function isFaultOfOneStatement(error: unknown): boolean {
  const code = primaryCode(error);
  return code === undefined || faultsOfOneStatement.has(code);
}

/** Whether SQLite, or what binds values for it, will not take the data of a statement later either. */
export function isRefusedForGood(error: unknown): boolean {
  const code = primaryCode(error);
  if (code === undefined) return isNoValue(error);
  return faultsOfOneStatement.has(code) && code !== sqliteCode.error;
}

/** Whether another connection held a file's lock for the whole wait; also if that is the cause. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === sqliteCode.busy || (error instanceof HoldfastError && isBusy(error.cause));
}

/** Whether the database, or its disk, has no room. */
export function isFull(error: unknown): boolean {
  return primaryCode(error) === sqliteCode.full;
}

/** Whether a file could not be written, mostly because its disk is full. */
export function isUnwritten(error: unknown): boolean {
  return isFull(error) || extendedCode(error) === 778; // IOERR_WRITE
}

/** The error's text, for use inside a sentence, without the end that some messages have. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
}
