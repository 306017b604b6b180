import type { Result } from "@modelcontextprotocol/sdk/types.js";
import { HoldfastError } from "../task/fault.ts";
import type { JsonRpcError } from "../task/outcome.ts";
import type { TaskSnapshot } from "../task/snapshot.ts";
import { noResult } from "./status-command.ts";

/** The result of a task as it was stored. Throws `no_result`; of a task that failed without one, with the reason. */
export function readResult(taskId: string, snapshot: TaskSnapshot | undefined): Result {
  const outcome = snapshot?.outcome;
  if (outcome?.kind === "error") {
    throw new HoldfastError("no_result", (JSON.parse(outcome.body) as JsonRpcError).message);
  }
  if (outcome === undefined || outcome === null || outcome.body === noResult) {
    throw new HoldfastError("no_result", `Task ${taskId} has no result stored`);
  }
  return JSON.parse(outcome.body) as Result;
}
