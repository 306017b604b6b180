import { errorOutcome, resultOutcome, type JsonRpcError } from "../../../src/task/outcome.ts";
import type { TaskRecord, TaskSnapshot } from "../../../src/task/record.ts";
import { runningRecord } from "../../contract/sample-task.ts";

const ours = { generation: "2025-11-25" } as const;
const over = { ...ours, token: null, finishedAt: 0 } as const;

export function working(members: Partial<TaskRecord> = {}): TaskSnapshot {
  return { task: runningRecord({ ...ours, ...members }), inputs: [], outcome: null };
}

export function completed(result: object, members: Partial<TaskRecord> = {}): TaskSnapshot {
  const task = runningRecord({ ...over, state: "settled", outcomeKind: "result", ...members });
  return { task, inputs: [], outcome: resultOutcome(result) };
}

/** The tool answered, with `isError`. */
export function failedResult(result: object, members: Partial<TaskRecord> = {}): TaskSnapshot {
  return completed({ ...result, isError: true }, { outcomeKind: "error_result", ...members });
}

/** The request failed with a JSON-RPC error. */
export function failedRequest(error: JsonRpcError, members: Partial<TaskRecord> = {}): TaskSnapshot {
  return { ...completed({}, { outcomeKind: "error", ...members }), outcome: errorOutcome(error) };
}

export function cancelled(): TaskSnapshot {
  return { task: runningRecord({ ...over, state: "cancelled" }), inputs: [], outcome: null };
}
