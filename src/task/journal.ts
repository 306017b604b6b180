import type { InputMethod } from "./input.ts";

export type JournalKind = "step" | "input" | "sleep" | "call" | "event";

/** Whether entries of the kind are ended by others than the attempt: a client, a task of the same server, an event. */
export function isEndedByOthers(kind: JournalKind): boolean {
  return kind === "input" || kind === "call" || kind === "event";
}

/** A journal entry without its texts. */
export interface JournalHead {
  readonly key: string;
  readonly kind: JournalKind;
  /** Inputs only: which request was put to the client. */
  readonly method: InputMethod | null;
  /** Hash of an input's method and params, of a call's tool and arguments, or of an event's name; another one under the same key cannot be replayed. */
  readonly requestHash: string | null;
  /** Epoch ms at which an input or a wait for an event is given up, a sleep ends, or a step is tried again; null where there is no such time. */
  readonly deadlineAt: number | null;
  /** Steps only: how often it failed and was to be tried again. */
  readonly tries: number;
  /**
   * Epoch ms at which it began: a step when its function was first called, what is opened when it was. Null where an older schema saw that, and
   * for a step of which nobody said so.
   */
  readonly begunAt: number | null;
  /** Epoch ms; null while an entry has not ended: a step only where it is to be tried again. */
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
  /** Raw JSON of the result; null where an entry has none, has failed or has not ended. */
  readonly value: string | null;
  /**
   * Raw JSON of the error (name, message, code, data) of a step, or of an input or event that was given up; or the JSON-RPC
   * error (code, message, data) by which the client answered an input, whose code is a number; or how a call failed (`CallFailure`).
   */
  readonly error: string | null;
}

/**
 * One thing that an attempt must not do twice. Its key is unique in its task; on replay the kind has to match,
 * and for an input also the hash of its method and params. Order, and entries that are not reached, do not matter.
 */
export interface JournalEntry extends JournalHead, JournalEnd {
  /** The raw JSON params of an input, the tool of a call, the name of an event. */
  readonly request: string | null;
}

/** A journal key. An array is handy for items of a collection: `["hash", path]`. */
export type JournalKey = string | readonly (string | number)[];

/** The stored and wire form of a key: a string is itself, an array its JSON. */
export function encodeJournalKey(key: JournalKey): string {
  return typeof key === "string" ? key : JSON.stringify(key);
}
