import type { JSX } from "preact";
import type { TaskStanding } from "../../../src/admin/admin.ts";

export const standingNames: Readonly<Record<TaskStanding, string>> = {
  queued: "Queued",
  waiting: "Waiting",
  running: "Running",
  input_required: "Needs input",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

export function StandingBadge({ state }: { readonly state: TaskStanding }): JSX.Element {
  return <span class={`badge ${state}`}>{standingNames[state]}</span>;
}
