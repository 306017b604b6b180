import type { RemoteTask } from "holdfast/client";

export interface FileProgress {
  readonly done: number;
  readonly total: number;
}

/** The tool's progress, from what it reports to every client: "Reading files (127 of 300)". */
export function fileProgress({ statusMessage = "" }: RemoteTask): FileProgress | undefined {
  const [, done, total] = /\((\d+) of (\d+)\)$/.exec(statusMessage) ?? [];
  if (done === undefined || total === undefined) return undefined;
  return { done: Number(done), total: Number(total) };
}

/** When the tool asks its question, it has read everything, even if that is nothing. */
export function isHalfway({ status }: RemoteTask, progress: FileProgress | undefined): boolean {
  return status === "input_required" || (progress !== undefined && progress.done >= progress.total / 2);
}
