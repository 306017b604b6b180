import type { Progress } from "./record.ts";

/**
 * The report that is further; if both are equal, the newer one, whose total and message may differ. Branches of a handler report in
 * parallel, and a run after a crash starts over, but the progress that clients see must not go back.
 */
export function furthest(last: Progress | null, report: Progress): Progress {
  return last !== null && report.progress < last.progress ? last : report;
}
