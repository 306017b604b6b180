/** What the end of a process is to a task that it ran. `suspicion.ts` decides it. */

/** What crashes have to do with a task. Times are epoch milliseconds. */
export interface Suspicion {
  /** How many of its crashes in a row count against nobody, because other tasks may have caused them. */
  readonly shared: number;
  /** When it became a suspect; null for one that is none yet. */
  readonly since: number | null;
  /** When it made progress again, or ended; null before. */
  readonly clearedAt: number | null;
}

/** How a crash counts for a task: not at all, because it was tried as the only suspect, or because no other can have caused it. */
export type Blame = "none" | "tried" | "alone";

/** What the loss of an attempt has to do with its process. */
export interface Loss {
  readonly blame: Blame;
  /** How many other tasks were running there. */
  readonly others: number;
}

/** It was the only task that ran there. */
export const lostAlone: Loss = { blame: "alone", others: 0 };

/** What an attempt stores of the end of its process. */
export function lossText({ blame, others }: Loss): string {
  const gone = "The process that ran it is gone.";
  if (others === 0) return gone;
  const beside = `It ran ${others === 1 ? "another task" : `${others} other tasks`} too`;
  const counts = {
    none: "so this does not count against the task.",
    tried: "but no other that is suspected of ending processes, so this counts against the task.",
    alone: "but each of those has made progress since its last crash, so this counts against the task.",
  }[blame];
  return `${gone} ${beside}, ${counts}`;
}
