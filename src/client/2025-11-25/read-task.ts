import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import { immediateResponseOf, type WireStatus } from "../../generation/2025-11-25.ts";
import { Violation } from "../reply/reply.ts";
import {
  directAnswer,
  type TaskMembers,
  readTaskId,
  readTaskMembers,
  readToolResult,
  unknownStatus,
  violationOfId,
} from "../reply/read-members.ts";
import type { CallAnswer } from "../task-protocol.ts";

/** A task as the server reports it, without its result and its questions. */
export interface ReportedTask extends TaskMembers {
  readonly status: WireStatus;
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
  const { status, ttl, pollInterval } = value;
  const members = readTaskMembers(value, ttl, pollInterval);
  if (members instanceof Violation) return members;
  return isStatus(status) ? { ...members, status } : unknownStatus(status);
}

/** The same for an answer that must be about this task. */
export function readAbout(answer: JsonObject, taskId: string): ReportedTask | Violation {
  return violationOfId(answer, taskId) ?? readTask(answer);
}

/** Reads the answer to `tools/call`. A task is in `task`, even if the call asked for none (C-024). */
export function readCallAnswer(answer: JsonObject): CallAnswer | Violation {
  const { task } = answer;
  if (!isJsonObject(task)) return directAnswer(readToolResult(answer));
  const taskId = readTaskId(task, "created");
  if (taskId instanceof Violation) return taskId;
  const reported = readTask(task);
  // In any other status the answer is incomplete, and the task is polled at once.
  const isWhole = !(reported instanceof Violation) && reported.status === "working";
  const shown = isWhole ? { ...reported, status: "working" as const } : undefined;
  return { kind: "task", taskId, task: shown, immediateResponse: immediateResponseOf(answer) };
}

function isStatus(value: unknown): value is WireStatus {
  return statuses.has(value);
}
