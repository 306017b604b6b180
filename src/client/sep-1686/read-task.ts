import type { JsonObject } from "../../generation/json-object.ts";
import { wireStatuses, type WireStatus } from "../../generation/sep-1686/wire-task.ts";
import { Violation } from "../reply/reply.ts";

/** What a server says of a task: neither its result nor its questions, and no times. */
export interface ToldTask {
  readonly taskId: string;
  readonly status: WireStatus;
  /** Milliseconds from its end; null: without end. */
  readonly keepAliveMs: number | null;
  readonly pollIntervalMs?: number;
  /** Of a failed task: what went wrong. */
  readonly error?: string;
}

const statuses: ReadonlySet<unknown> = new Set(wireStatuses);

/** Reads the answer to `tasks/get` of this task; wrong hints are ignored. */
export function readTask(answer: JsonObject, taskId: string): ToldTask | Violation {
  const { status, keepAlive, pollFrequency, error } = answer;
  if (answer["taskId"] !== taskId) return new Violation("The server answered for another task");
  if (!isStatus(status)) return new Violation(`The server sent a task with status ${JSON.stringify(status)}`);
  return {
    taskId,
    status,
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
