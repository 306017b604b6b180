export { sqliteStore } from "./store/sqlite/sqlite-store.ts";
export type { SqliteStoreOptions } from "./store/sqlite/options.ts";
