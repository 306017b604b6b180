import type { TaskRecord } from "./record.ts";

/**
 * The tool version with which a task started, once it has started. If an older schema started it, the version is unknown and counts as 1,
 * the version of tools that declare none.
 */
export function versionOf({ toolVersion }: Pick<TaskRecord, "toolVersion">): number {
  return toolVersion ?? 1;
}
