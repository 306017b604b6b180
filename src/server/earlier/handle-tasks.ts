import { taskMethods } from "../../generation/2025-11-25/methods.ts";
import { isUnknownTask } from "../../task/fault.ts";
import { handle as handleCore } from "../2025-11-25/handle.ts";
import type { Answer } from "../answer.ts";
import { handle as handleSep } from "../sep-1686/handle.ts";
import { isTasksMethod } from "../sep-1686/gate.ts";
import type { Party } from "../sep-1686/party.ts";
import type { ToolRequest } from "../tool-request.ts";

type CoreSetup = Parameters<typeof handleCore>[2];

export interface BothSetup extends CoreSetup {
  /** The client as one of SEP-1686, where it can be one. */
  readonly party: Party | undefined;
  /** Whether the request says that it is of SEP-1686. */
  readonly takes: boolean;
}

/**
 * Answers a `tasks/*` request of either generation that shares the connection. What does not say which one it is of is
 * decided by the generation of the task (A-46).
 */
export async function handleTasks(method: string, request: ToolRequest, setup: BothSetup): Promise<Answer> {
  const { party, takes } = setup;
  const core = taskMethods.find((each) => each === method);
  const sep =
    party !== undefined && isTasksMethod(method) ? () => handleSep(method, request, party) : undefined;
  if (core === undefined || (takes && sep !== undefined)) return sep === undefined ? { result: {} } : sep();
  try {
    return await handleCore(core, request, setup);
  } catch (error) {
    const either = method === "tasks/get" || method === "tasks/result";
    if (!either || sep === undefined || !isUnknownTask(error)) throw error;
    return sep();
  }
}
