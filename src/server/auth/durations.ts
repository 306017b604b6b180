import { numberKind } from "../../options/kind.ts";
import { mustBe, shown } from "../../options/options.ts";
import type { TimeSpan } from "../../task/time.ts";
import { HoldfastError } from "../../task/fault.ts";

/** Throws `configuration` for an option that is no number from `least` on. */
export function assertNumbers(options: Readonly<Record<string, number>>, least = 0): void {
  for (const [name, value] of Object.entries(options)) {
    if (Number.isFinite(value) && value >= least) continue;
    throw new HoldfastError("configuration", `${name} must be a number of at least ${least}, not ${value}.`);
  }
}

/** These lengths of time in milliseconds. Throws `configuration` for others, and for what is less than `min`. */
export function readSpans<Name extends string>(
  given: Readonly<Record<Name, TimeSpan>>,
  min = 0,
): Readonly<Record<Name, number>> {
  const kind = numberKind("time", { min, fractions: true });
  const read = Object.entries<TimeSpan>(given).map(([name, span]) => {
    if (kind.accepts(span)) return [name, kind.read?.(span)] as const;
    throw new HoldfastError("configuration", `${name} ${mustBe(kind, "inCode", shown(span))}`);
  });
  return Object.fromEntries(read) as Record<Name, number>;
}
