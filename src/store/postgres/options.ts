import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";
import { defaultSchema } from "./names.ts";

export interface PostgresStoreOptions {
  /** The schema with the store's tables: lower-case letters, digits and `_`. Default `holdfast`. */
  readonly schema?: string;
  /**
   * A URL that bypasses a pooler such as PgBouncer in transaction mode, for LISTEN and the queue. Default: the store's URL, which must then
   * not be a pooler's. `null`: no direct connection; the store then polls for changes by other processes.
   */
  readonly directUrl?: string | null;
  /** Maximum number of connections of this process, not counting one or two direct ones. Default 10. */
  readonly maxConnections?: number;
  /** How long the database may take to answer, in milliseconds; after that a call fails with `store_failed`. Default 5000. */
  readonly timeoutMs?: number;
  /**
   * How long a process may be silent before others take it for dead, in milliseconds. Default 15,000. Use the same value in all processes.
   */
  readonly leaseMs?: number;
  /**
   * Whether new tasks wake one process of several, by jobs of graphile-worker in the schema `<schema>_queue`; otherwise all processes look
   * for them. Default: true if that package is installed and `directUrl` is not null.
   */
  readonly queue?: boolean;
  /**
   * Whether opening the store upgrades its schema. Default true. Set false for roles without that permission, and run `holdfast migrate`
   * first.
   */
  readonly migrate?: boolean;
}

export interface Settings {
  readonly schema: string;
  readonly directUrl: string | null;
  readonly maxConnections: number;
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly migrate: boolean;
  /** Undefined: true if the package is installed. */
  readonly queue: boolean | undefined;
}

const names: OptionNames<PostgresStoreOptions> = {
  schema: true,
  directUrl: true,
  maxConnections: true,
  timeoutMs: true,
  leaseMs: true,
  migrate: true,
  queue: true,
};

/** Throws `configuration` for invalid options. */
export function settingsOf(url: string, options: PostgresStoreOptions): Settings {
  assertOptionNames("postgresStore", options, names);
  if (options.queue === true && options.directUrl === null) {
    throw new HoldfastError(
      "configuration",
      "queue needs a connection to the database itself: set directUrl.",
    );
  }
  const { schema = defaultSchema, directUrl = url, migrate = true } = options;
  return {
    schema,
    directUrl,
    migrate,
    queue: directUrl === null ? false : options.queue,
    maxConnections: atLeast("maxConnections", options.maxConnections ?? 10, 2),
    timeoutMs: atLeast("timeoutMs", options.timeoutMs ?? 5_000, 1, longestMs),
    leaseMs: atLeast("leaseMs", options.leaseMs ?? 15_000, 1_000, longestMs),
  };
}

/** A week: far below the limits of timers and the database, which treat longer times as none. */
const longestMs = 7 * 24 * 3_600_000;

function atLeast(
  name: keyof PostgresStoreOptions,
  value: number,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  if (Number.isFinite(value) && value >= least && value <= most) return value;
  const end = most === Number.MAX_SAFE_INTEGER ? "" : `, and at most ${most}`;
  throw new HoldfastError("configuration", `${name} has to be a number of at least ${least}${end}.`);
}
