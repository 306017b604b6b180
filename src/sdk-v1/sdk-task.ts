import type { Task, Result } from "@modelcontextprotocol/sdk/types.js";
import type { TaskRecord, TaskSnapshot } from "../task/record.ts";
import { HoldfastError } from "../task/fault.ts";
import type { JsonRpcError } from "../task/outcome.ts";
import { noResult } from "./task-commands.ts";

/** A record as a task of SDK v1, with the same members as in the SDK's own store. */
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
 * The status that the server set. The journal has no questions of SDK v1, so `waiting` says whether the task waits
 * for its client. A result that was stored with `failed` is an error result, whatever its `isError` says.
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

/** The stored result of a task. Throws `no_result` if there is none; the message says why, if the task failed. */
export function readResult(taskId: string, snapshot: TaskSnapshot | undefined): Result {
  const outcome = snapshot?.outcome;
  if (outcome?.kind === "error") {
    throw new HoldfastError("no_result", (JSON.parse(outcome.body) as JsonRpcError).message);
  }
  if (outcome === undefined || outcome === null || outcome.body === noResult) {
    throw new HoldfastError("no_result", `Task ${taskId} has no result stored`);
  }
  return JSON.parse(outcome.body) as Result;
}
