import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { immediateResponseOf } from "../../generation/2025-11-25/create.ts";
import { toolOf } from "../../generation/tool-meta.ts";
import type { WireStatus } from "../../generation/2025-11-25/wire-task.ts";
import { Violation } from "../reply/reply.ts";
import { readToolResult } from "../session/read-tool-result.ts";
import type { CallAnswer } from "../task-protocol.ts";

/** What a server says of a task, whatever its status: neither its result nor its questions. */
export interface SeenTask {
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

/** Reads a task, flat as it stands in most answers. Its draft had no lastUpdatedAt (C-D-005); wrong hints are ignored. */
export function readTask(value: JsonObject): SeenTask | Violation {
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

/** The same for an answer about this task. */
export function readAbout(answer: JsonObject, taskId: string): SeenTask | Violation {
  if (answer["taskId"] !== taskId) return new Violation("The server answered for another task");
  return readTask(answer);
}

/** Reads the answer to `tools/call`: a task stands in `task`, whether it was asked for or not (C-024). */
export function readCallAnswer(answer: JsonObject): CallAnswer | Violation {
  const { task } = answer;
  if (!isJsonObject(task)) {
    const result = readToolResult(answer);
    return result instanceof Violation ? result : { kind: "result", result };
  }
  const { taskId } = task;
  if (typeof taskId !== "string" || taskId === "")
    return new Violation("The server created a task without a taskId");
  const seen = readTask(task);
  // In any other status a poll has more to tell; so it is polled at once.
  const isWhole = !(seen instanceof Violation) && seen.status === "working";
  const shown = isWhole ? { ...seen, status: "working" as const } : undefined;
  return { kind: "task", taskId, task: shown, immediateResponse: immediateResponseOf(answer) };
}

function isStatus(value: unknown): value is WireStatus {
  return statuses.has(value);
}

function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
