import type { Progress } from "./record.ts";

/**
 * The one of two reports that is further; of equal ones the newer, whose total and message may be others. Branches of a
 * handler report side by side, and a run after a crash begins anew; yet what clients are told must not go back.
 */
export function furthest(last: Progress | null, report: Progress): Progress {
  return last !== null && report.progress < last.progress ? last : report;
}
