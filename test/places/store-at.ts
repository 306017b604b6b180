import { postgresStore } from "holdfast/postgres";
import { sqliteStore } from "holdfast/sqlite";
import type { TaskStore } from "holdfast/store";
import { asTested } from "./encryption.ts";

/** Where tasks are in a database. */
export const defaultSchema = "holdfast";

interface Options {
  /** How long a write waits for an SQLite file that another process holds. */
  readonly busyTimeoutMs?: number;
  /** How long a process lives in a Postgres database for which nobody renews its lease. */
  readonly leaseMs?: number;
}

/** A store at a place that processes share: the URL of a Postgres database, or the path of an SQLite file. */
export function storeAt(at: string, options: Options = {}): TaskStore {
  const { leaseMs, ...ofFile } = options;
  if (!isUrl(at)) return asTested(sqliteStore(at, ofFile));
  const url = new URL(at);
  url.searchParams.set("application_name", nameOfProcess(process.pid));
  return asTested(postgresStore(url.href, leaseMs === undefined ? {} : { leaseMs }));
}

export function isUrl(at: string): boolean {
  return at.startsWith("postgres:");
}

/** By what a process is known among the connections to a database. */
export function nameOfProcess(pid: number): string {
  return `holdfast-test-${pid}`;
}
