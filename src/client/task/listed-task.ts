import type { RemoteTask } from "./remote-task.ts";
import type { TaskReference } from "./task-reference.ts";

/** A task in a server's list, with what its protocol includes there. */
export interface TaskSummary {
  readonly taskId: string;
  /** The tool that the task runs, if the server says so, as Holdfast servers do in `_meta["holdfast/tool"]`. */
  readonly tool?: string;
  /** As in `TaskHandle.get`. */
  readonly status: RemoteTask["status"];
  /** Free text about the task's progress, for people and models; for a failed task of SEP-1686, why it failed. */
  readonly statusMessage?: string;
  /** ISO 8601, by the server's clock; left out in SEP-1686, which has no times. */
  readonly createdAt?: string;
  /** The time of its last change, in the same form. */
  readonly lastUpdatedAt?: string;
  /** Milliseconds from `createdAt` after which the server may delete the task; `null`: never. */
  readonly ttlMs: number | null;
  /** Milliseconds for which the server keeps the task after its end; `null`: forever. Only in SEP-1686. */
  readonly keepAliveMs?: number | null;
  /** The poll interval that the server asks for, in milliseconds. */
  readonly pollIntervalMs?: number;
}

/** A task in a list, without its result and its questions. To get those, use `client.resume(task.reference)`. */
export interface ListedTask extends TaskSummary {
  readonly reference: TaskReference;
}

/** One page of a server's list. */
export interface TaskPage<Task> {
  /** In the server's order. */
  readonly tasks: readonly Task[];
  /** The cursor of the next page; left out on the last page. Opaque to clients. */
  readonly nextCursor?: string;
}
