import { allWaitReasons } from "../task/waits-for.ts";

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
