import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { immediateResponseOf } from "../../generation/2025-11-25/create.ts";
import { toolOf } from "../../generation/tool-meta.ts";
import type { WireStatus } from "../../generation/2025-11-25/wire-task.ts";
import { Violation } from "../reply/reply.ts";
import { readToolResult } from "../session/read-answers.ts";
import type { CallAnswer } from "../task-protocol.ts";

/** A task as the server reports it, without its result and its questions. */
export interface ReportedTask {
  readonly taskId: string;
  readonly status: WireStatus;
  readonly tool?: string;
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number | null;
  readonly pollIntervalMs?: number;
}

const statuses: ReadonlySet<unknown> = new Set<WireStatus>([
  "working",
  "input_required",
  "completed",
  "failed",
  "cancelled",
]);

/**
 * Reads a task from most answers, where its members are at the top level. The draft had no lastUpdatedAt (C-D-005).
 * Invalid hints are ignored.
 */
export function readTask(value: JsonObject): ReportedTask | Violation {
  const { taskId, status, createdAt, lastUpdatedAt, ttl, statusMessage, pollInterval } = value;
  if (typeof taskId !== "string" || taskId === "")
    return new Violation("The server sent a task without a taskId");
  if (typeof createdAt !== "string") return new Violation("The server sent a task without createdAt");
  if (!isStatus(status)) return new Violation(`The server sent a task with status ${JSON.stringify(status)}`);
  const tool = toolOf(value);
  return {
    taskId,
    status,
    ...(tool !== undefined && { tool }),
    createdAt,
    lastUpdatedAt: typeof lastUpdatedAt === "string" ? lastUpdatedAt : createdAt,
    ttlMs: isDuration(ttl) ? ttl : null,
    ...(typeof statusMessage === "string" && { statusMessage }),
    ...(isDuration(pollInterval) && { pollIntervalMs: pollInterval }),
  };
}

/** The same for an answer that must be about this task. */
export function readAbout(answer: JsonObject, taskId: string): ReportedTask | Violation {
  if (answer["taskId"] !== taskId) return new Violation("The server answered for another task");
  return readTask(answer);
}

/** Reads the answer to `tools/call`. A task is in `task`, even if the call asked for none (C-024). */
export function readCallAnswer(answer: JsonObject): CallAnswer | Violation {
  const { task } = answer;
  if (!isJsonObject(task)) {
    const result = readToolResult(answer);
    return result instanceof Violation ? result : { kind: "result", result };
  }
  const { taskId } = task;
  if (typeof taskId !== "string" || taskId === "")
    return new Violation("The server created a task without a taskId");
  const reported = readTask(task);
  // In any other status the answer is incomplete, and the task is polled at once.
  const isWhole = !(reported instanceof Violation) && reported.status === "working";
  const shown = isWhole ? { ...reported, status: "working" as const } : undefined;
  return { kind: "task", taskId, task: shown, immediateResponse: immediateResponseOf(answer) };
}

function isStatus(value: unknown): value is WireStatus {
  return statuses.has(value);
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
