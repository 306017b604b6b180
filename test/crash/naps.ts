import type { LogLine } from "./log.ts";
import type { Span } from "./pace.ts";

/** A server that begins a sleep anew is late by what was slept before; where the machine is not slow, it is late by less. */
const patienceMs = 7_500;
/** Long enough to tell the two apart, short enough to end in every run. */
export const longNapMs = 15_000;

/**
 * Sleeps that ended before the time which the journal has for them, or long after it and after the server was there
 * to see: there must be none. `deadlines` is by task, in epoch ms.
 */
export function wrongNaps(
  lines: readonly LogLine[],
  deadlines: ReadonlyMap<string, number>,
  mayBeLate: (span: Span) => boolean = () => false,
): string[] {
  const laidDown = new Map<string, number>();
  const problems: string[] = [];
  for (const { event, task, value } of lines) {
    if (event === "lies down") laidDown.set(task, Number(value));
    if (event !== "wakes") continue;
    const deadline = deadlines.get(task) ?? Number.NaN;
    const due = { since: Math.max(deadline, laidDown.get(task) ?? 0), until: Number(value) };
    const lateMs = due.until - due.since;
    if (Number.isNaN(lateMs) || Number(value) < deadline || (lateMs > patienceMs && !mayBeLate(due)))
      problems.push(`${task} slept until ${value} instead of ${deadline}`);
  }
  return problems;
}
