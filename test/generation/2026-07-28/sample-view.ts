import type { TaskSnapshot, TaskRecord } from "../../../src/task/record.ts";
import { errorOutcome, resultOutcome, type JsonRpcError } from "../../../src/task/outcome.ts";
import { runningRecord } from "../../contract/sample-task.ts";

const settled = { state: "settled", token: null, finishedAt: 0 } as const;

export function working(members: Partial<TaskRecord> = {}): TaskSnapshot {
  return { task: runningRecord(members), inputs: [], outcome: null };
}

export function asking(inputs: TaskSnapshot["inputs"]): TaskSnapshot {
  return { task: runningRecord({ openInputs: inputs.length }), inputs, outcome: null };
}

export function completed(result: object, members: Partial<TaskRecord> = {}): TaskSnapshot {
  return { task: runningRecord({ ...settled, ...members }), inputs: [], outcome: resultOutcome(result) };
}

export function failed(error: JsonRpcError, members: Partial<TaskRecord> = {}): TaskSnapshot {
  return { task: runningRecord({ ...settled, ...members }), inputs: [], outcome: errorOutcome(error) };
}

export function cancelled(): TaskSnapshot {
  return {
    task: runningRecord({ state: "cancelled", token: null, finishedAt: 0 }),
    inputs: [],
    outcome: null,
  };
}
