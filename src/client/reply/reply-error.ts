import type { JsonRpcError } from "../../task/outcome.ts";
import type { Reply } from "./reply.ts";
import { TaskClientError } from "../task-client-error.ts";

// The published number and the one that the extension's text began with.
const missingCapabilityNumbers = [-32021, -32003];

/** The error that a reply without a value means to the caller. */
export function replyError(
  reply: Exclude<Reply<unknown>, { kind: "value" }>,
  taskId?: string,
): TaskClientError {
  switch (reply.kind) {
    case "error":
      return rpcError(reply.error, taskId);
    case "lost":
      if (reply.error !== undefined) return rpcError(reply.error, taskId);
      return new TaskClientError("connection", reply.message, { cause: reply.cause, taskId });
    case "bad":
      return new TaskClientError(reply.code, reply.message, {
        cause: reply.cause,
        taskId: taskId ?? reply.taskId,
      });
  }
}

function rpcError(error: JsonRpcError, taskId: string | undefined): TaskClientError {
  const code = isMissingCapability(error) ? "missing_capability" : "rpc";
  return new TaskClientError(code, `${error.message} (${error.code})`, { error, taskId });
}

function isMissingCapability({ code, data }: JsonRpcError): boolean {
  const named = typeof data === "object" && data !== null && "requiredCapabilities" in data;
  return named && missingCapabilityNumbers.includes(code);
}
