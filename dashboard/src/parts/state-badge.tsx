import type { JSX } from "preact";
import type { AdminTaskState } from "../../../src/admin/admin.ts";

export const stateNames: Readonly<Record<AdminTaskState, string>> = {
  queued: "Queued",
  waiting: "Waiting",
  running: "Running",
  input_required: "Needs input",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

export function StateBadge({ state }: { readonly state: AdminTaskState }): JSX.Element {
  return <span class={`badge ${state}`}>{stateNames[state]}</span>;
}
