/** A requirement that no test names, and why that is right today. */
export interface Declined {
  readonly id: string;
  readonly reason: string;
}

// prettier-ignore
export const declined: readonly Declined[] = [
  { id: "X-038", reason: "No store here is eventually consistent: the port asks that reads show what was acknowledged, and the store contract holds it." },
  { id: "X-051", reason: "May: rates are not limited yet." },
  { id: "X-092", reason: "Says what the headers are for; that they are there is X-090, X-091 and X-B-018." },
  { id: "X-P-015", reason: "Speaks of servers with both generations; the one of 2025-11-25 is not served yet." },
];
