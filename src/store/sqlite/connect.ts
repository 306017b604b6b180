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
