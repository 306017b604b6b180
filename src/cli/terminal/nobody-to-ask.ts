import type { OnInput } from "../../client/question/input-request.ts";

/**
 * Where there is nobody to ask: a task's question stays open, for `holdfast answer` or for another client; one that comes
 * before there is a task can be answered by nobody else, and is declined with an error.
 */
export const nobodyToAsk: OnInput = async ({ taskId, signal }) => {
  if (taskId === null)
    throw new Error("There is no terminal on which the server's question could be answered");
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
};
