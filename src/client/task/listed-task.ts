import type { RemoteTask } from "./remote-task.ts";
import type { TaskReference } from "./task-reference.ts";

/** What a server's list says of a task, as far as the wire form of its tasks says it there. */
export interface TaskSummary {
  readonly taskId: string;
  /** The tool whose call it is, where the server says so, as Holdfast's servers do in `_meta["holdfast/tool"]`. */
  readonly tool?: string;
  /** As `TaskHandle.get` would tell it. */
  readonly status: RemoteTask["status"];
  /** Free text about where the task stands, for people and models; of a failed task of SEP-1686, why it failed. */
  readonly statusMessage?: string;
  /** ISO 8601, by the server's clock; left out in SEP-1686, whose tasks tell no times. */
  readonly createdAt?: string;
  /** The same for its last change. */
  readonly lastUpdatedAt?: string;
  /** Milliseconds from `createdAt` after which the server may drop the task; `null` for never. */
  readonly ttlMs: number | null;
  /** Milliseconds from its end for which the server keeps the task; `null` for ever. In SEP-1686 alone. */
  readonly keepAliveMs?: number | null;
  /** Milliseconds that the server wants between polls. */
  readonly pollIntervalMs?: number;
}

/** A task of a list: neither its result nor its questions, which `client.resume(task.reference)` gets. */
export interface ListedTask extends TaskSummary {
  readonly reference: TaskReference;
}

/** A part of a server's list. */
export interface TaskPage<Task> {
  /** In the server's order. */
  readonly tasks: readonly Task[];
  /** Gets the next page; left out on the last. The server's own text, with no meaning to anybody else. */
  readonly nextCursor?: string;
}
