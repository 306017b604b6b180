import type { JsonObject } from "../../generation/json-object.ts";
import { toolOf } from "../../generation/tool-meta.ts";
import { wireStatuses, type WireStatus } from "../../generation/sep-1686/wire-task.ts";
import { Violation } from "../reply/reply.ts";
import type { TaskSummary } from "../task/listed-task.ts";
import type { RemoteTask } from "../task/remote-task.ts";

/** What a server says of a task: neither its result nor its questions, and no times. */
export interface ToldTask {
  readonly taskId: string;
  readonly status: WireStatus;
  readonly tool?: string;
  /** Milliseconds from its end; null: without end. */
  readonly keepAliveMs: number | null;
  readonly pollIntervalMs?: number;
  /** Of a failed task: what went wrong. */
  readonly error?: string;
}

const statuses: ReadonlySet<unknown> = new Set(wireStatuses);

/** Reads the answer to `tasks/get` of this task; wrong hints are ignored. */
export function readTask(answer: JsonObject, taskId: string): ToldTask | Violation {
  if (answer["taskId"] !== taskId) return new Violation("The server answered for another task");
  return readTold(taskId, answer);
}

/** Reads a task of the answer to `tasks/list`. */
export function readListed(task: JsonObject): TaskSummary | Violation {
  const { taskId, createdAt } = task;
  if (typeof taskId !== "string" || taskId === "")
    return new Violation("The server listed a task without a taskId");
  if (createdAt !== undefined)
    return new Violation("The server lists tasks of 2025-11-25, and none of SEP-1686, in this session");
  const told = readTold(taskId, task);
  if (told instanceof Violation) return told;
  const { status, error, ...others } = told;
  const statusMessage = status === "submitted" ? notBegun : error;
  return {
    ...others,
    status: seenStatus(status),
    ttlMs: null,
    ...(statusMessage !== undefined && { statusMessage }),
  };
}

/** What stands for `submitted`, which has no status of its own here. */
export const notBegun = "Not begun yet";

function seenStatus(status: WireStatus): RemoteTask["status"] {
  switch (status) {
    case "submitted":
      return "working";
    case "unknown": // an end as well
      return "failed";
    default:
      return status;
  }
}

function readTold(taskId: string, task: JsonObject): ToldTask | Violation {
  const { status, keepAlive, pollFrequency, error } = task;
  if (!isStatus(status)) return new Violation(`The server sent a task with status ${JSON.stringify(status)}`);
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

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
