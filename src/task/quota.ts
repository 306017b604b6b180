/** How many tasks there are, or may be; null: any number. */
export interface Allowance {
  /** Those that have not ended. */
  readonly unfinished: number | null;
  /** Those and the ended ones that are still kept. */
  readonly retained: number | null;
}

/** What a new task has to fit into. */
export interface Quota {
  /** For each principal; callers who are not told apart are none, and only the total bounds them. */
  readonly perPrincipal: Allowance;
  readonly total: Allowance;
}

/** The number of existing tasks. */
export interface Usage {
  readonly unfinished: number;
  readonly retained: number;
}

/** Whether one more unfinished task fits. */
export function hasRoom(usage: Usage, { unfinished, retained }: Allowance): boolean {
  return (
    (unfinished === null || usage.unfinished < unfinished) && (retained === null || usage.retained < retained)
  );
}
