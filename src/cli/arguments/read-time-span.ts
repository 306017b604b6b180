import { millisecondsOf } from "../../task/time-span.ts";
import { UsageError } from "../errors.ts";

/** The milliseconds of `90s`, `5m`, `48h` or `7d`; `what` is the option or the argument that has it. */
export function readTimeSpan(what: string, text: string): number {
  try {
    return millisecondsOf(text);
  } catch {
    throw new UsageError(`${what} takes a length of time: 90s, 5m, 48h or 7d, not ${JSON.stringify(text)}.`);
  }
}
