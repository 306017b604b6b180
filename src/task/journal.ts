import type { InputMethod } from "./input.ts";

export type JournalKind = "step" | "input" | "sleep";

/** A journal entry without its texts. */
export interface JournalHead {
  readonly key: string;
  readonly kind: JournalKind;
  /** Inputs only: which request was put to the client. */
  readonly method: InputMethod | null;
  /** Inputs only: hash of method and params; another one under the same key cannot be replayed. */
  readonly requestHash: string | null;
  /** Epoch ms at which an open input is given up, or a sleep ends; null where there is no such time. */
  readonly deadlineAt: number | null;
  /** Epoch ms; null while an input is open, and until a sleep has ended. */
  readonly doneAt: number | null;
  /**
   * The version that its end gave to the record: entries end in this order, and those that one command ended in the order
   * of the journal. Null while it has not ended. Null also where an older schema saw the end: such entries ended before all
   * others, in the order of `doneAt`.
   */
  readonly doneVersion: number | null;
}

/** When an entry ended. */
export type JournalEndTime = Pick<JournalHead, "key" | "doneAt" | "doneVersion">;

/** What an entry ended with. */
export interface JournalEnd {
  readonly key: string;
  /** Raw JSON of the result; null while an input is open, where the step threw, and where it returned nothing. */
  readonly value: string | null;
  /**
   * Raw JSON of the final error (name, message, code, data) of a step, or of an input that was given up; or the JSON-RPC
   * error (code, message, data) by which the client answered an input, whose code is a number.
   */
  readonly error: string | null;
}

/**
 * One thing that an attempt must not do twice. Its key is unique in its task; on replay the kind has to match,
 * and for an input also the hash of its method and params. Order, and entries that are not reached, do not matter.
 */
export interface JournalEntry extends JournalHead, JournalEnd {
  /** Inputs only: the raw JSON params of the request. */
  readonly request: string | null;
}

/** A journal key. An array is handy for items of a collection: `["hash", path]`. */
export type JournalKey = string | readonly (string | number)[];

/** The stored and wire form of a key: a string is itself, an array its JSON. */
export function encodeJournalKey(key: JournalKey): string {
  return typeof key === "string" ? key : JSON.stringify(key);
}
