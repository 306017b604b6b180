import type { OnInput } from "../../client/question/input-request.ts";
import { LeftOpen } from "./left-open.ts";

/**
 * Where there is nobody to ask: a task's question stays open, for `holdfast answer` or for another client; one that comes
 * before there is a task can be answered by nobody else, and is declined with an error.
 */
export const nobodyToAsk: OnInput = async ({ taskId }) => {
  if (taskId !== null) throw new LeftOpen();
  throw new Error("There is no terminal on which the server's question could be answered");
};
