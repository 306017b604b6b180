export { postgresStore } from "./store/postgres/postgres-store.ts";
export type { PostgresStoreOptions } from "./store/postgres/options.ts";
export { migratePostgres } from "./store/postgres/migrate.ts";
export type { MigratePostgresOptions, PostgresMigration } from "./store/postgres/migrate.ts";
