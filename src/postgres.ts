export { postgresStore } from "./store/postgres/postgres-store.ts";
export type { PostgresStoreOptions } from "./store/postgres/options.ts";
