import type { ShownTask } from "./terminal.ts";

/** What becomes of a task that nobody waits for any more, and how to come back to it. */
export function wayBack({ comeBack, serverEnds }: ShownTask): string {
  return serverEnds === true
    ? `Its server ends with this command, and has lost the task if it keeps tasks in memory. If it keeps them on disk, come back to it with: ${comeBack}`
    : `The task goes on. Come back to it with: ${comeBack}`;
}
