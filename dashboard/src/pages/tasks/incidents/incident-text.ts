import type { BulkJobShown } from "../../../../../src/admin/task-operations.ts";
import type { Incident } from "../../../../../src/admin/incident-operations.ts";

/** What an incident is called. */
export function incidentName({ tool, message, cause }: Incident): string {
  return message === "" ? `${tool} fails: cause ${cause.slice(0, 8)}` : message;
}

/** Whom it hits: "3 tasks of 2 callers". */
export function openText({ open, callers }: Incident): string {
  return `${counted(open, "task")} of ${counted(callers, "caller")}`;
}

/** With which versions of the tool; null for a tool that has only had one. */
export function versionsText({ firstVersion, lastVersion }: Incident): string | null {
  const [first, last] = [firstVersion ?? 1, lastVersion ?? 1];
  if (first === last) return first === 1 ? null : `with version ${first}`;
  return `with versions ${first} to ${last}`;
}

/** How far a bulk job is that runs tasks again. */
export function jobText({ counts: { total, done, refused }, endedAt }: BulkJobShown): string {
  const rest = refused === 0 ? "" : ` ${counted(refused, "task")} could not be run again.`;
  if (endedAt === null)
    return `${done.toLocaleString()} of ${counted(total, "task")} run again so far, and it goes on.${rest}`;
  return `${counted(done, "task")} run again.${rest}`;
}

function counted(count: number, what: string): string {
  return `${count.toLocaleString()} ${what}${count === 1 ? "" : "s"}`;
}
