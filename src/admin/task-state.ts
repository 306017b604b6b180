import { allWaitReasons } from "../task/task-line.ts";

// What help of the command line names, in a module that loads no schemas.

/** The states of tasks as operators see them. */
export const adminTaskStates = [
  "queued",
  "waiting",
  "running",
  "input_required",
  "blocked",
  "completed",
  "failed",
  "cancelled",
] as const;

/** What unfinished tasks wait for. */
export const adminWaitReasons = allWaitReasons;

/** What is counted of the tasks of a tool: those that have not ended, and those that have. */
export const openCounts = ["queued", "waiting", "running", "inputRequired", "blocked"] as const;
export const endCounts = ["completed", "failed", "cancelled"] as const;
export const countNames = [...openCounts, ...endCounts] as const;
