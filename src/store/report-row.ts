import type { NodeReport } from "./node-reports.ts";
import { columnsOf, integer, textOrStored, type Row } from "./row.ts";

/** The columns of a report, in the order in which statements have them. */
export const reportColumns = ["owner", "minute", "body"] as const;

const at = columnsOf(reportColumns);

export function reportOf(row: Row): NodeReport {
  return {
    owner: textOrStored(row, at.owner),
    minute: integer(row, at.minute),
    body: textOrStored(row, at.body),
  };
}
