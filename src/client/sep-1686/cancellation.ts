import { withRelatedTask } from "../../generation/sep-1686/related-task.ts";

/** Takes a request back, and with it the task that it made (S-063). */
export function cancellation(requestId: string, taskId: string, reason: string) {
  const params = withRelatedTask({ requestId, reason }, taskId);
  return { jsonrpc: "2.0" as const, method: "notifications/cancelled", params };
}
