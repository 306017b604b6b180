export { sqliteStore, type SqliteStoreOptions } from "./store/sqlite/sqlite-store.ts";
