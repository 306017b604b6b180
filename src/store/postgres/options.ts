import { HoldfastError } from "../../task/fault.ts";
import type { TimeSpan } from "../../task/time.ts";
import {
  assertOptions,
  flag,
  number,
  settingsOf as withDefaults,
  tableOf,
  text,
  time,
} from "../../options/options.ts";
import { defaultSchema, isSchema } from "./names.ts";
import { serversOf } from "./work-sharing.ts";

/** A week: far below the limits of timers and the database, which treat longer times as none. */
const longestMs = 7 * 24 * 3_600_000;

class DeclaredPostgresStoreOptions {
  /** The schema with the store's tables. Several stores can share a database. Default `holdfast`. */
  readonly schema?: string = text("up to 48 lower-case letters, digits and `_`", isSchema, {
    default: defaultSchema,
  });
  /**
   * A URL that bypasses a pooler such as PgBouncer in transaction mode, for `LISTEN`. `null`: no direct connection; the store then polls for
   * changes by other processes once a second. Default: the store's URL, which must then not be a pooler's.
   */
  readonly directUrl?: string | null = text("`postgres://HOST/DATABASE`", isPostgresUrl, {
    orNull: true,
    variable: "HOLDFAST_POSTGRES_DIRECT_URL",
    secret: true,
  });
  /**
   * A URL of a replica, a standby that streams from the database: the lists, counts and charts that operators see are read there, with how far
   * it is behind. Tasks, selections for bulk actions and the actions of operators are read from the database itself, and so is everything
   * while the replica does not answer. Default: no replica.
   */
  readonly readUrl?: string = text("`postgres://HOST/DATABASE`", isPostgresUrl, {
    variable: "HOLDFAST_POSTGRES_READ_URL",
    secret: true,
  });
  /**
   * Maximum number of connections of this process, besides one that listens and one that renews its lease, and up to four to a replica.
   * Default 10.
   */
  readonly maxConnections?: number = number({
    min: 2,
    default: 10,
    variable: "HOLDFAST_POSTGRES_MAX_CONNECTIONS",
  });
  /**
   * Whether connections keep statements, so that the database parses and plans them less often. Set `true` for a pooler that supports it in
   * transaction mode, such as PgBouncer 1.21 or later with `max_prepared_statements`. Default: `true` if nothing is between the process and
   * the database.
   */
  readonly preparedStatements?: boolean = flag({ variable: "HOLDFAST_POSTGRES_PREPARED_STATEMENTS" });
  /** How long the database may take to answer. After that a call fails with `store_failed`. Default 5 seconds. */
  readonly timeoutMs?: TimeSpan = time({
    min: 1,
    max: longestMs,
    default: 5_000,
    variable: "HOLDFAST_POSTGRES_TIMEOUT",
  });
  /**
   * How long after its last heartbeat a process counts as dead, so that others take over its tasks. Use the same value in all processes.
   * Default 15 seconds.
   */
  readonly leaseMs?: TimeSpan = time({
    min: 1_000,
    max: longestMs,
    default: 15_000,
    variable: "HOLDFAST_POSTGRES_LEASE",
  });
  /**
   * Whether opening the store upgrades its schema. Set `false` for database roles without that permission, and run `holdfast migrate` first.
   * Default `true`.
   */
  readonly migrate?: boolean = flag({ default: true, variable: "HOLDFAST_MIGRATE" });
}

/** Options of `postgresStore`. */
export interface PostgresStoreOptions extends DeclaredPostgresStoreOptions {}

export const postgresStoreOptions = tableOf<PostgresStoreOptions>(DeclaredPostgresStoreOptions);

export interface Settings {
  readonly schema: string;
  readonly directUrl: string | null;
  readonly readUrl: string | undefined;
  readonly maxConnections: number;
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly migrate: boolean;
  /** Undefined: as the connections turn out to be. */
  readonly preparedStatements: boolean | undefined;
}

/** Throws `configuration` for invalid options. */
export function settingsOf(url: string, options: PostgresStoreOptions): Settings {
  assertOptions("postgresStore", options, postgresStoreOptions);
  // The driver takes anything else for the path of a URL, and then looks for a host called "base". Without any text it reads PGHOST and the like.
  if (typeof url !== "string" || (url !== "" && !isPostgresUrl(url)))
    throw new HoldfastError("configuration", "postgresStore needs a URL: postgres://HOST/DATABASE.");
  const settings = withDefaults<PostgresStoreOptions, "directUrl" | "readUrl" | "preparedStatements">(
    postgresStoreOptions,
    options,
  );
  const { directUrl = url, readUrl, preparedStatements } = settings;
  return { ...settings, directUrl, readUrl, preparedStatements };
}

export function isPostgresUrl(given: string): boolean {
  // As for the driver, there may be no host behind the user, where `?host=` names the folder of a socket.
  const canBeRead = (url: string): boolean => URL.canParse(url) || URL.canParse(url.replace("@/", "@host/"));
  return /^postgres(?:ql)?:\/\//i.test(given) && serversOf(given).every(canBeRead);
}
