import { createRecord } from "../../src/task/record-changes.ts";
import type { TaskRecord } from "../../src/task/record.ts";
import { createQueued, createRunning, owner } from "../../src/testing/sample-task.ts";

// The samples live beside the contract, which authors of stores run too; tests of other rooms find them here.
export {
  createQueued,
  createRunning,
  noon,
  owner,
  sampleRequest,
  sampleTask,
} from "../../src/testing/sample-task.ts";

export function queuedRecord(members: Partial<TaskRecord> = {}): TaskRecord {
  return { ...createRecord(createQueued("a"), owner), ...members };
}

export function runningRecord(members: Partial<TaskRecord> = {}): TaskRecord {
  return { ...createRecord(createRunning("a"), owner), ...members };
}
