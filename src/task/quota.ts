/** How many tasks there are or may be; null: any number. */
export interface Allowance {
  /** Tasks that have not ended. */
  readonly unfinished: number | null;
  /** These, and ended tasks that are still kept. */
  readonly retained: number | null;
}

/** The limits for a new task. */
export interface Quota {
  /** For each principal. Callers that are not told apart have no principal, so only the total limits them. */
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
