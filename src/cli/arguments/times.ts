import { millisecondsOf } from "../../task/time.ts";
import { UsageError } from "../errors.ts";

/** The milliseconds in `90s`, `5m`, `48h` or `7d`; `what` names the option or argument. */
export function readTimeSpan(what: string, text: string): number {
  try {
    return millisecondsOf(text);
  } catch {
    throw new UsageError(`${what} takes a duration such as 90s, 5m, 48h or 7d, not ${JSON.stringify(text)}.`);
  }
}

/** A future time: `2d` from now, a date in ISO 8601, or `never`, which is null. Throws a UsageError. */
export function untilOf(text: string, now: number): number | null {
  if (text === "never") return null;
  try {
    return Math.ceil(now + millisecondsOf(text));
  } catch {
    const date = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN;
    if (Number.isFinite(date)) return date;
    throw new UsageError(
      `Extend a task by a duration such as 90s, 5m, 48h or 7d, to a date, or "never", not ${JSON.stringify(text)}.`,
    );
  }
}

/** A time that is over (epoch ms): `2h` is two hours ago; or a date in ISO 8601. Throws a UsageError. */
export function pastTime(what: string, text: string, now: number): number {
  const date = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN;
  return Number.isFinite(date) ? date : now - readTimeSpan(what, text);
}
