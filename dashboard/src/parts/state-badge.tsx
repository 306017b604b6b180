import type { JSX } from "preact";
import type { AdminTaskState, AdminWaitReason } from "../../../src/admin/admin.ts";

export const stateNames: Readonly<Record<AdminTaskState, string>> = {
  queued: "Queued",
  waiting: "Waiting",
  running: "Running",
  input_required: "Needs input",
  blocked: "Blocked",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** What a task waits for. */
export const reasonNames: Readonly<Record<AdminWaitReason, string>> = {
  question: "an answer",
  event: "an event",
  call: "another tool",
  sleep: "a time",
  retry: "its next try",
  limit: "a limit",
  slot: "a free slot",
};

interface StateBadgeProps {
  readonly state: AdminTaskState;
  readonly waitsFor: AdminWaitReason | null;
}

export function StateBadge({ state, waitsFor }: StateBadgeProps): JSX.Element {
  const reason = state === "waiting" && waitsFor !== null ? ` for ${reasonNames[waitsFor]}` : "";
  return <span class={`badge ${state}`}>{`${stateNames[state]}${reason}`}</span>;
}
