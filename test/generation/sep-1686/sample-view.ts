import { generation } from "../../../src/generation/sep-1686.ts";
import { errorOutcome, resultOutcome, type JsonRpcError } from "../../../src/task/outcome.ts";
import type { TaskRecord, TaskSnapshot } from "../../../src/task/record.ts";
import { queuedRecord, runningRecord } from "../../contract/sample-task.ts";

const ours: Partial<TaskRecord> = {
  generation,
  wireId: "mine",
  expiry: { from: "terminal", ms: 60_000 },
};
const over: Partial<TaskRecord> = { ...ours, token: null, finishedAt: 0 };

export function submitted(members: Partial<TaskRecord> = {}): TaskSnapshot {
  return { task: queuedRecord({ ...ours, ...members }), inputs: [], outcome: null };
}

export function working(members: Partial<TaskRecord> = {}): TaskSnapshot {
  return { task: runningRecord({ ...ours, ...members }), inputs: [], outcome: null };
}

export function completed(result: object, members: Partial<TaskRecord> = {}): TaskSnapshot {
  const task = runningRecord({ ...over, state: "settled", outcomeKind: "result", ...members });
  return { task, inputs: [], outcome: resultOutcome(result) };
}

/** The tool answered, with `isError`. */
export function completedWithError(result: object): TaskSnapshot {
  return completed({ ...result, isError: true }, { outcomeKind: "error_result" });
}

/** The request failed with a JSON-RPC error. */
export function failed(error: JsonRpcError, members: Partial<TaskRecord> = {}): TaskSnapshot {
  return { ...completed({}, { outcomeKind: "error", ...members }), outcome: errorOutcome(error) };
}

export function cancelled(): TaskSnapshot {
  return { task: runningRecord({ ...over, state: "cancelled" }), inputs: [], outcome: null };
}
