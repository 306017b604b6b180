import { HoldfastError } from "../../task/fault.ts";

/** The SQLite primary result codes that are distinguished. */
export const sqliteCode = {
  error: 1,
  busy: 5,
  noMemory: 7,
  readonly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  range: 25,
  notDatabase: 26,
} as const;

/** The primary result code of an error that SQLite reported; undefined for any other error. */
export function primaryCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

/** Whether a row was refused because its key is taken. */
export function isKeyTaken(error: unknown): boolean {
  const code = extendedCode(error);
  return code === 1555 || code === 2067 || code === 2579; // PRIMARYKEY, UNIQUE, ROWID
}

/** SQLite's own texts (`sqlite3_errstr`) of what is wrong with a file, a disk or memory. */
const textsOfFiles: readonly (readonly [text: string, code: number])[] = [
  ["database is locked", sqliteCode.busy],
  ["out of memory", sqliteCode.noMemory],
  ["attempt to write a readonly database", sqliteCode.readonly],
  ["disk I/O error", sqliteCode.io],
  ["database disk image is malformed", sqliteCode.corrupt],
  ["database or disk is full", sqliteCode.full],
  ["unable to open database file", sqliteCode.cannotOpen],
  ["file is not a database", sqliteCode.notDatabase],
];

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

/** Whether another connection held a file's lock for the whole wait; also if that is the cause. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === sqliteCode.busy || (error instanceof HoldfastError && isBusy(error.cause));
}

/** Whether a file could not be written, mostly because its disk is full. */
export function isUnwritten(error: unknown): boolean {
  return primaryCode(error) === sqliteCode.full || extendedCode(error) === 778; // IOERR_WRITE
}

/** The error's text, for use inside a sentence, without the end that some messages have. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
}

function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("errcode" in error && typeof error.errcode === "number") return error.errcode;
  return "code" in error && error.code === "ERR_SQLITE_ERROR" ? codeOf(error.message) : undefined;
}

/** For Deno, whose errors of `exec` and of opening a file have SQLite's text without its code. */
function codeOf(message: string): number {
  const [, code] = textsOfFiles.find(([text]) => message.startsWith(text)) ?? [];
  return code ?? sqliteCode.error;
}
