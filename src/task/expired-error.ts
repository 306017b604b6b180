import type { JsonRpcError } from "./outcome.ts";

const mark = "holdfast/expired";

/** What a task fails with that reached its end of life unfinished; its data tells it from other failures. */
export const expiredError = {
  code: -32603,
  message: "The task expired before it ended.",
  data: { [mark]: true },
} as const satisfies JsonRpcError;

/** Whether a task's error is that one, from whichever server. */
export function isExpiredError({ data }: JsonRpcError): boolean {
  return typeof data === "object" && data !== null && mark in data && data[mark] === true;
}
