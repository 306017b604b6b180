import type { CallToolResult } from "@modelcontextprotocol/client";
import type { CompletedTask } from "../task/remote-task.ts";
import type { TaskHandle } from "../task/task-handle.ts";

/** The handle for a call that was answered at once, at epoch milliseconds `at`. */
export function directHandle(result: CallToolResult, at: number): TaskHandle {
  const answeredAt = new Date(at).toISOString();
  const task: CompletedTask = {
    taskId: "",
    status: "completed",
    createdAt: answeredAt,
    lastUpdatedAt: answeredAt,
    ttlMs: null,
    result,
  };
  return {
    reference: null,
    taskId: null,
    get: async () => task,
    async *updates() {
      yield task;
    },
    // Without a task there is no log, no output and no artifact.
    async *logs() {},
    async *output() {},
    artifacts: async () => [],
    result: async () => result,
    // Cancelling an ended task does nothing.
    cancel: async () => undefined,
    // The server keeps nothing that could be deleted.
    delete: async () => undefined,
  };
}
