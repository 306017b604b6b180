import type { CallToolResult } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../generation/message.ts";
import { toolOf } from "../../generation/extensions.ts";
import type { RemoteTask } from "../task/remote-task.ts";
import { Violation } from "./reply.ts";

/** What a task has in every status. */
export type TaskMembers = Pick<
  RemoteTask,
  "taskId" | "tool" | "createdAt" | "lastUpdatedAt" | "ttlMs" | "statusMessage" | "pollIntervalMs"
>;

/**
 * Reads what a task has in every status, where it has timestamps. A missing `lastUpdatedAt` is `createdAt`, and invalid
 * hints are ignored. `ttl` and `pollInterval` have other names in each generation.
 */
export function readTaskMembers(
  task: JsonObject,
  ttl: unknown,
  pollInterval: unknown,
): TaskMembers | Violation {
  const { createdAt, lastUpdatedAt, statusMessage } = task;
  const taskId = readTaskId(task, "sent");
  if (taskId instanceof Violation) return taskId;
  if (typeof createdAt !== "string") return new Violation("The server sent a task without createdAt");
  const tool = toolOf(task);
  return {
    taskId,
    ...(tool !== undefined && { tool }),
    createdAt,
    lastUpdatedAt: typeof lastUpdatedAt === "string" ? lastUpdatedAt : createdAt,
    ttlMs: isDuration(ttl) ? ttl : null,
    ...(typeof statusMessage === "string" && { statusMessage }),
    ...(isDuration(pollInterval) && { pollIntervalMs: pollInterval }),
  };
}

/** The id of a task that the server sent, created or listed. */
export function readTaskId({ taskId }: JsonObject, how: "sent" | "created" | "listed"): string | Violation {
  if (typeof taskId === "string" && taskId !== "") return taskId;
  return new Violation(`The server ${how} a task without a taskId`);
}

/** What is wrong with an answer that has to be about this task. */
export function violationOfId(answer: JsonObject, taskId: string): Violation | undefined {
  return answer["taskId"] === taskId ? undefined : new Violation("The server answered for another task");
}

/** What is wrong with a task of this status. */
export function unknownStatus(status: unknown): Violation {
  return new Violation(`The server sent a task with status ${JSON.stringify(status)}`);
}

/** Reads a tool's result. Without content, it is none if its resultType says that it is something else, in whatever revision. */
export function readToolResult(result: JsonObject): CallToolResult | Violation {
  const { content, resultType = "complete" } = result;
  if (content === undefined && resultType !== "complete") return unknownResultType(result);
  const withContent = { content: [], ...result };
  return isToolResult(withContent)
    ? withContent
    : new Violation("The tool's result has content that is not a list");
}

// All other members are passed on unchecked.
function isToolResult(value: JsonObject): value is CallToolResult {
  return Array.isArray(value["content"]);
}

export function unknownResultType({ resultType, taskId }: JsonObject): Violation {
  const named = typeof taskId === "string" && taskId !== "" ? taskId : undefined;
  return new Violation(`The server answered with resultType ${JSON.stringify(resultType)}`, named);
}

/** The answer to a call that became no task. */
export function directAnswer(
  result: CallToolResult | Violation,
): { readonly kind: "result"; readonly result: CallToolResult } | Violation {
  return result instanceof Violation ? result : { kind: "result", result };
}

export function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
