import type { JsonRpcError } from "./outcome.ts";

const mark = "holdfast/expired";

/** The error of a task that reached its end of life unfinished. Its data tells it from other failures. */
export const expiredError = {
  code: -32603,
  message: "The task expired before it ended.",
  data: { [mark]: true },
} as const satisfies JsonRpcError;

/** Whether a task's error is this one, from any server. */
export function isExpiredError({ data }: JsonRpcError): boolean {
  return typeof data === "object" && data !== null && mark in data && data[mark] === true;
}
