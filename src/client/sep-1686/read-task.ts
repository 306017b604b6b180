import type { JsonObject } from "../../generation/message.ts";
import { toolOf } from "../../generation/extensions.ts";
import { wireStatuses, type WireStatus } from "../../generation/sep-1686.ts";
import { isDuration, readTaskId, unknownStatus, violationOfId } from "../reply/read-members.ts";
import { Violation } from "../reply/reply.ts";
import type { TaskSummary } from "../task/listed-task.ts";
import type { RemoteTask } from "../task/remote-task.ts";

/** A task as the server reports it, without its result, its questions and timestamps. */
export interface ReportedTask {
  readonly taskId: string;
  readonly status: WireStatus;
  readonly tool?: string;
  /** Milliseconds from its end; null: no limit. */
  readonly keepAliveMs: number | null;
  readonly pollIntervalMs?: number;
  /** Why a failed task failed. */
  readonly error?: string;
}

const statuses: ReadonlySet<unknown> = new Set(wireStatuses);

/** Reads the answer to `tasks/get` for this task. Invalid hints are ignored. */
export function readTask(answer: JsonObject, taskId: string): ReportedTask | Violation {
  return violationOfId(answer, taskId) ?? readReported(taskId, answer);
}

/** Reads a task of the answer to `tasks/list`. */
export function readListed(task: JsonObject): TaskSummary | Violation {
  const taskId = readTaskId(task, "listed");
  if (taskId instanceof Violation) return taskId;
  if (task["createdAt"] !== undefined)
    return new Violation("In this session the server lists tasks of 2025-11-25 instead of SEP-1686");
  const reported = readReported(taskId, task);
  if (reported instanceof Violation) return reported;
  const { status, error, ...others } = reported;
  const statusMessage = status === "submitted" ? notBegun : error;
  return {
    ...others,
    status: statusOf(status),
    ttlMs: null,
    ...(statusMessage !== undefined && { statusMessage }),
  };
}

/** The status message for `submitted`, which becomes `working`. */
export const notBegun = "Not started yet";

function statusOf(status: WireStatus): RemoteTask["status"] {
  switch (status) {
    case "submitted":
      return "working";
    case "unknown": // counts as an end
      return "failed";
    default:
      return status;
  }
}

function readReported(taskId: string, task: JsonObject): ReportedTask | Violation {
  const { status, keepAlive, pollFrequency, error } = task;
  if (!isStatus(status)) return unknownStatus(status);
  const tool = toolOf(task);
  return {
    taskId,
    status,
    ...(tool !== undefined && { tool }),
    keepAliveMs: isDuration(keepAlive) ? keepAlive : null,
    ...(isDuration(pollFrequency) && { pollIntervalMs: pollFrequency }),
    ...(typeof error === "string" && { error }),
  };
}

function isStatus(value: unknown): value is WireStatus {
  return statuses.has(value);
}
