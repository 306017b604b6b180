import { HoldfastError } from "../../task/fault.ts";
import { assertOptionNames, type OptionNames } from "../../task/option-names.ts";

export interface SqliteStoreOptions {
  /** How long a write waits for another program that locks the file, such as a backup, in milliseconds. Default 5000. */
  readonly busyTimeoutMs?: number;
  /** Maximum size of the database file in bytes, without its log; writes beyond it fail. Default: no limit. */
  readonly maxBytes?: number;
  /** Whether opening the store may create the file, or upgrade an older schema. Default true; with false both are `store_unusable`. */
  readonly migrate?: boolean;
}

export interface Settings {
  readonly busyTimeoutMs: number;
  readonly maxBytes: number | null;
  readonly migrate: boolean;
}

const names: OptionNames<SqliteStoreOptions> = { busyTimeoutMs: true, maxBytes: true, migrate: true };

/** Throws `configuration` for invalid options. */
export function settingsOf(options: SqliteStoreOptions): Settings {
  assertOptionNames("sqliteStore", options, names);
  const { busyTimeoutMs = 5000, maxBytes, migrate = true } = options;
  return {
    busyTimeoutMs: positive("busyTimeoutMs", busyTimeoutMs, longestMs),
    maxBytes: maxBytes === undefined ? null : positive("maxBytes", maxBytes),
    migrate,
  };
}

/** A week: SQLite accepts at most 24 days. */
const longestMs = 7 * 24 * 3_600_000;

function positive(name: keyof SqliteStoreOptions, value: number, most = Number.MAX_SAFE_INTEGER): number {
  if (Number.isFinite(value) && value > 0 && value <= most) return value;
  const end = most === Number.MAX_SAFE_INTEGER ? "" : `, and at most ${most}`;
  throw new HoldfastError("configuration", `${name} has to be a number above 0${end}.`);
}
