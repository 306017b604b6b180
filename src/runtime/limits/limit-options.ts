import { HoldfastError } from "../../task/fault.ts";
import { assertOptions, isObject, number, tableOf } from "../../options/options.ts";

class DeclaredLimitOptions {
  /** How many may run at the same time. Default: any number. */
  readonly concurrency?: number = number({ min: 1 });
  /** How many may start within a minute, whichever minute is looked at. Default: any number. */
  readonly perMinute?: number = number({ min: 1, max: 100_000 });
}

/** What a limit allows, over all processes that share the store. */
export interface LimitOptions extends DeclaredLimitOptions {}

export const limitOptions = tableOf<LimitOptions>(DeclaredLimitOptions);

export function isLimitName(given: unknown): given is LimitName {
  const parts: readonly unknown[] = Array.isArray(given) ? given : [given];
  const [name] = parts;
  const areParts = parts.every((part) => typeof part === "string" || Number.isFinite(part));
  return areParts && typeof name === "string" && name !== "";
}

/** Names without brackets, in which keys are. */
export function areLimits(given: unknown): boolean {
  if (!isObject(given)) return false;
  const entries: readonly [string, unknown][] = Object.entries(given as object);
  return entries.every(([name, each]) => /^[^[\]]+$/.test(name) && isObject(each));
}

/** Throws `configuration` for a limit that says nothing, or what no limit can. */
export function assertLimits(limits: Readonly<Record<string, LimitOptions>>): void {
  for (const [name, each] of Object.entries(limits)) {
    assertOptions(`limits.${name}`, each, limitOptions);
    if (each.concurrency !== undefined || each.perMinute !== undefined) continue;
    throw new HoldfastError(
      "configuration",
      `limits.${name} limits nothing: set concurrency, perMinute or both.`,
    );
  }
}

/**
 * The limits of a program, by their names, so that the compiler knows them. As long as it is empty, a limit can have any name.
 *
 * ```ts
 * export const limits = { search: { concurrency: 4, perMinute: 60 } };
 *
 * declare module "holdfast" {
 *   interface KnownLimits extends Record<keyof typeof limits, unknown> {}
 * }
 * ```
 */
// oxlint-disable-next-line no-empty-interface, no-empty-object-type -- programs add to it
export interface KnownLimits {}

type Known = Extract<keyof KnownLimits, string>;

/** The names that limits can have. */
export type DeclaredLimit = [Known] extends [never] ? string : Known;

/**
 * A limit by its name, or by its name and a key of your own: each key is counted for itself, as for the accounts of customers with a
 * service, and all have the numbers of the name.
 */
export type LimitName = DeclaredLimit | readonly [name: DeclaredLimit, ...key: (string | number)[]];
