import type * as sqlite from "node:sqlite";

/**
 * Opens a connection. Only this function loads `node:sqlite`, and only now: a static import would fail on an old Node before any message
 * could say why.
 */
export function connect(path: string | URL, options: sqlite.DatabaseSyncOptions): sqlite.DatabaseSync {
  const { DatabaseSync: Database } = loadSqlite();
  // Otherwise one integer that is too large for a number makes a whole page of rows fail, not only its row.
  return new Database(path, { enableForeignKeyConstraints: false, readBigInts: true, ...options });
}

/** Node 22 warns once, when the module is first loaded, that SQLite is experimental; our users did not choose it. */
function loadSqlite(): typeof sqlite {
  // oxlint-disable-next-line typescript/unbound-method -- put back as it was, and called on its process
  const emitWarning = process.emitWarning;
  process.emitWarning = (...args: unknown[]) => {
    if (!isSqliteWarning(args)) Reflect.apply(emitWarning, process, args);
  };
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}

function isSqliteWarning([warning, type]: readonly unknown[]): boolean {
  return type === "ExperimentalWarning" && typeof warning === "string" && warning.startsWith("SQLite ");
}

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

/** The code with what SQLite adds to the primary one; undefined for an error of anything else. */
export function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("errcode" in error && typeof error.errcode === "number") return error.errcode;
  return "code" in error && error.code === "ERR_SQLITE_ERROR" ? codeOf(error.message) : undefined;
}

/** For Deno, whose errors of `exec` and of opening a file have SQLite's text without its code. */
function codeOf(message: string): number {
  const [, code] = textsOfFiles.find(([text]) => message.startsWith(text)) ?? [];
  return code ?? sqliteCode.error;
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
