import { HoldfastError } from "../../task/fault.ts";
import type { LimitName } from "./limit-name.ts";
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
