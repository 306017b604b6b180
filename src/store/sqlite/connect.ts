import type { DatabaseSync, DatabaseSyncOptions } from "node:sqlite";

/**
 * Opens a connection. `node:sqlite` is asked for here and nowhere else, and only now: a static import would fail
 * on an old Node before anything could say why.
 */
export function connect(path: string, options: DatabaseSyncOptions): DatabaseSync {
  const { DatabaseSync: Database } = process.getBuiltinModule("node:sqlite");
  return new Database(path, { enableForeignKeyConstraints: false, ...options });
}
