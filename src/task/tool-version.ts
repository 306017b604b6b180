import type { TaskRecord } from "./record.ts";

/**
 * The version of its tool that a task began with, once it has begun. Of one that an older schema saw nothing is known, and 1 is what tools have
 * that do not say any.
 */
export function versionOf({ toolVersion }: Pick<TaskRecord, "toolVersion">): number {
  return toolVersion ?? 1;
}
