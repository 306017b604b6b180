import type { TaskSummary } from "../../../src/admin/admin.ts";

/** What a task says of itself: why it failed, or its status text, or that of its progress, which ends with the task. */
export function taskText({
  error,
  statusMessage,
  progress,
  finishedAt,
}: Pick<TaskSummary, "error" | "statusMessage" | "progress" | "finishedAt">): string {
  return error ?? statusMessage ?? (finishedAt === null ? progress?.message : undefined) ?? "";
}
