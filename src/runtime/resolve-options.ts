import { HoldfastError } from "../task/fault.ts";
import { defaultOptions, type RequestedTtl, type Role, type RuntimeOptions } from "./options.ts";

interface Rule {
  readonly min: number;
  readonly max?: number;
  readonly orNull?: true;
}

type NumericOption = Exclude<keyof RuntimeOptions, "requestedTtl" | "roles">;

const allRoles: readonly unknown[] = ["serve", "work"] satisfies Role[];

const requestedTtls: readonly unknown[] = ["result", "task"] satisfies RequestedTtl[];

/** The numbers that each option accepts. All are whole, and at most what a number can hold exactly. */
export const numberRules: Readonly<Record<NumericOption, Rule>> = {
  keepMs: { min: 1_000 }, // or a result is gone before anybody reads it
  ttlMs: { min: 0, orNull: true },
  minTtlMs: { min: 0 },
  maxTtlMs: { min: 1 },
  maxRunMs: { min: 1 },
  inputTimeoutMs: { min: 0, orNull: true },
  pollIntervalMs: { min: 0 },
  concurrency: { min: 1 },
  cancelGraceMs: { min: 0 },
  maxLeakedHandlers: { min: 1 },
  maxParkedFrames: { min: 0 },
  expiredVisibleMs: { min: 0 },
  stopDeadlineMs: { min: 0 },
  maxUnfinishedPerPrincipal: { min: 1, orNull: true },
  maxUnfinished: { min: 1, orNull: true },
  maxRetainedPerPrincipal: { min: 1, orNull: true },
  maxRetained: { min: 1, orNull: true },
  maxInputsPerTask: { min: 1 },
  maxEventsPerTask: { min: 1 },
  maxJournalEntries: { min: 1 },
  maxJournalBytes: { min: 1 },
  maxBodyBytes: { min: 1 },
  maxNesting: { min: 1, max: 1_000 }, // schemas and hashes go down a message by recursion
  maxNodes: { min: 1 },
  maxLogLines: { min: 1 },
  maxLogBytes: { min: 1 },
  maxOutputBlocks: { min: 1 },
  maxOutputBytes: { min: 1 },
  maxDeliveries: { min: 1 },
  maxCrashes: { min: 1 },
  crashBackoffMs: { min: 0 },
  maxCrashBackoffMs: { min: 0 },
  unregisteredGraceMs: { min: 0 },
};

/** The options with their defaults. Throws `configuration` for an invalid value. */
export function resolveOptions(given: Partial<RuntimeOptions>): RuntimeOptions {
  const known = Object.fromEntries(
    Object.entries(given).filter(([name, value]) => name in defaultOptions && value !== undefined),
  );
  assertOptions(known);
  const options = { ...defaultOptions, ...known };
  const { minTtlMs, maxTtlMs, requestedTtl, roles } = options;
  if (!Array.isArray(roles) || roles.length === 0 || !roles.every((role) => allRoles.includes(role))) {
    throw new HoldfastError(
      "configuration",
      'roles has to be a list of "serve" and "work", or of one of them.',
    );
  }
  if (!requestedTtls.includes(requestedTtl)) {
    throw new HoldfastError("configuration", 'requestedTtl has to be "result" or "task".');
  }
  if (minTtlMs > maxTtlMs) {
    throw new HoldfastError(
      "configuration",
      `minTtlMs is ${minTtlMs} and larger than maxTtlMs, which is ${maxTtlMs}.`,
    );
  }
  return options;
}

/** Throws `configuration` if an option is set to an invalid value. */
export function assertOptions(
  given: Partial<Record<NumericOption, unknown>>,
): asserts given is Partial<RuntimeOptions> {
  for (const [name, rule] of Object.entries(numberRules)) {
    const { min, max = Infinity, orNull } = rule;
    const value = given[name as NumericOption];
    if (value === undefined || (value === null && orNull)) continue;
    if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) continue;
    const range = max === Infinity ? `from ${min} on` : `from ${min} to ${max}`;
    const also = orNull ? ", or null" : "";
    throw new HoldfastError(
      "configuration",
      `${name} has to be a whole number ${range}${also}; it is ${typeof value === "number" ? value : typeof value}.`,
    );
  }
}
