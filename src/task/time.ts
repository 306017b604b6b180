/** The latest time that is stored (epoch ms), and the longest duration (ms): the last time that a `Date` can show. */
export const latestTime = 8_640_000_000_000_000;

/** A time or duration as stores can hold it: integers that JavaScript cannot represent exactly do not survive a database. */
export function storable(ms: number): number {
  return Math.max(-latestTime, Math.min(ms, latestTime));
}

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A length of time as text: a number with a unit, such as `"90s"`, `"15m"`, `"2h"`, `"3d"` or `"1w"`. */
export type TimeSpanText = `${number}${"ms" | "s" | "m" | "h" | "d" | "w"}`;

/** A length of time: milliseconds, or a number with a unit: `"90s"`, `"15m"`, `"2h"`, `"3d"`, `"1w"`. */
export type TimeSpan = number | TimeSpanText;

/** A `TimeSpan` in milliseconds. Throws a TypeError if it is invalid. The only place that reads these texts. */
export function millisecondsOf(span: string | number): number {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)(ms|[smhdw])$/.exec(String(span)) ?? [];
  const ms = typeof span === "number" ? span : Number(amount) * (units[unit] ?? NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const given = typeof span === "string" ? JSON.stringify(span) : String(span);
  throw new TypeError(
    `${given} is not a length of time: use a number of milliseconds, 0 or more, or a text such as "90s", "15m", "2h", "3d" or "1w".`,
  );
}

/** The shortest text for a length of time, rounded up to whole seconds. */
export function timeSpanOf(ms: number): TimeSpan {
  for (const unit of ["d", "h", "m"] as const) {
    const amount = ms / (units[unit] ?? NaN);
    if (Number.isInteger(amount) && amount > 0) return `${amount}${unit}`;
  }
  return `${Math.ceil(ms / 1_000)}s`;
}
