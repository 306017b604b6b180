import { HoldfastError } from "../../task/fault.ts";

/** Throws `configuration` for an option that is no number from `least` on. */
export function assertNumbers(options: Readonly<Record<string, number>>, least = 0): void {
  for (const [name, value] of Object.entries(options)) {
    if (Number.isFinite(value) && value >= least) continue;
    throw new HoldfastError("configuration", `${name} must be a number of at least ${least}, not ${value}.`);
  }
}
