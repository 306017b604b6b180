/** A requirement that no test names, and why that is right today. */
export interface Declined {
  readonly id: string;
  readonly reason: string;
}

// prettier-ignore
export const declined: readonly Declined[] = [
  { id: "B-006", reason: "Node 18 is past its end; the minimum is 22.18, which has Web Crypto, and other versions are told so when they install or run it." },
  { id: "B-008", reason: "Says for whom each kind of capability is; it asks for nothing that a test could see." },
  { id: "B-P-012", reason: "Should not, for what is new: nothing here needs them, and the guide of protocols says that they are deprecated." },
  { id: "C-003", reason: "Says what the feature is; it asks for nothing that a test could see." },
  { id: "C-D-001", reason: "Draft wording that no released revision has; taskSupport alone is written and read." },
  { id: "C-D-004", reason: "Draft wording; the final text asks for more, and that is held (C-018, C-019)." },
  { id: "C-D-006", reason: "Says what the draft lacks; the final text has it (C-053, C-095)." },
  { id: "S-P-001", reason: "Says where the text stands; it asks for nothing that a test could see." },
  { id: "X-038", reason: "No store here is eventually consistent: the port asks that reads show what was acknowledged, and the store contract holds it." },
  { id: "X-061", reason: "May, and is not done: an answer is stored before it is acknowledged, so the next poll shows it. Our client bears servers that do it (X-068)." },
  { id: "X-092", reason: "Says what the headers are for; that they are there is X-090, X-091 and X-B-018." },
];
