import type { TaskRecord } from "./record.ts";

/** The tool version with which a task started, once it has started: 1, that of tools that declare none, if the claim named none. */
export function versionOf({ toolVersion }: Pick<TaskRecord, "toolVersion">): number {
  return toolVersion ?? 1;
}
