import { waitReasons, type WaitReason } from "./journal.ts";
import { isTerminal } from "./outcome.ts";
import type { TaskRecord } from "./record.ts";

/** What an unfinished task waits for, in the order in which people are shown them. `slot`: a process that has room for it. */
export const allWaitReasons = [...(Object.keys(waitReasons) as WaitReason[]), "slot"] as const;

export type TaskWait = (typeof allWaitReasons)[number];

/** Null if the task does not wait, or if that is not known. */
export function waitsForOf(
  task: Pick<TaskRecord, "state" | "openInputs" | "lane" | "waitsFor"> & { readonly blocked?: object },
): TaskWait | null {
  if (isTerminal(task.state) || task.blocked !== undefined) return null;
  if (task.openInputs > 0) return "question";
  return task.lane === null ? task.waitsFor : "slot";
}
