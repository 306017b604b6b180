import type { Task } from "@modelcontextprotocol/sdk/types.js";
import type { TaskRecord } from "../task/record.ts";

/** A record as SDK v1 shows it, member for member as its own store does. */
export function sdkTask(task: TaskRecord): Task {
  const shown: Task = {
    taskId: task.id,
    status: sdkStatus(task),
    ttl: task.expiry.ms,
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.updatedAt).toISOString(),
    pollInterval: task.pollIntervalMs,
  };
  return task.statusMessage === null ? shown : { ...shown, statusMessage: task.statusMessage };
}

/**
 * The status that the server gave. Its questions are not in the journal, hence `waiting` and not open inputs says whether
 * the task waits for its client; a result that was stored with `failed` is an error result, whatever it says of itself.
 */
export function sdkStatus(task: TaskRecord): Task["status"] {
  switch (task.state) {
    case "queued":
    case "running":
      return task.waiting ? "input_required" : "working";
    case "cancelled":
      return "cancelled";
    case "settled":
      return task.outcomeKind === "result" ? "completed" : "failed";
  }
}
