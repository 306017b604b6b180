/**
 * Whether a handler does the same under a key of its journal as when the entry was made: the one place that decides it.
 * - What is compared is the kind of the entry and, where it has one, the hash of its request; never a result.
 * - Another thing under the key blocks the task: nothing is written, and other code may continue it.
 */

import { HoldfastError } from "../../task/fault.ts";
import type { Refusal } from "../blocking.ts";
import type { ListedEntry } from "../../store/store.ts";
import type { InputMethod, JournalEntry, JournalKind } from "../../task/journal.ts";

/** What a handler does under a key. */
export interface Doing {
  readonly kind: JournalKind;
  /** Of a question. */
  readonly method?: InputMethod;
  /** Of what is asked, called or waited for. */
  readonly requestHash?: string;
  /** For people: the question, as JSON, the tool or the name of the event. */
  readonly request?: string;
}

/** Something else than what the journal has under the key. */
export interface Mismatch {
  readonly key: string;
  /** The kind of the entry in the journal. */
  readonly had: JournalKind;
  readonly doing: Doing;
}

/** Why this code cannot continue a task: it does something else than the journal has, or refuses the arguments. */
export type RunRefusal =
  | ({ readonly reason: "replay" } & Mismatch)
  | { readonly reason: "arguments"; readonly problem: string; readonly issues: string };

export function isSame({ kind, method, requestHash }: ListedEntry, doing: Doing): boolean {
  if (kind !== doing.kind) return false;
  if (kind === "input" && method !== doing.method) return false;
  return doing.requestHash === undefined || requestHash === doing.requestHash;
}

/** What the journal has, in words. */
function wordsOfEntry({ kind, request }: Pick<JournalEntry, "kind" | "request">): string {
  return wordsOf({ kind, ...(request !== null && { request }) });
}

/** What the handler does, in words. */
function wordsOf({ kind, request = "" }: Doing): string {
  switch (kind) {
    case "input":
      return `the question ${messageIn(request)}`;
    case "call":
      return `a call of the tool "${request}"`;
    case "event":
      return `a wait for the event "${request}"`;
    case "artifact":
      return "an artifact";
    default:
      return request === "" ? `a ${kind}` : request;
  }
}

/** Why the task is blocked, with the entry that `entryOf` reads, for operators. */
export async function blockReasonOf(
  refusal: RunRefusal,
  version: number,
  entryOf: (key: string) => Promise<JournalEntry | undefined>,
): Promise<Refusal> {
  if (refusal.reason === "arguments") {
    const { reason, problem, issues } = refusal;
    return { reason, problem, key: null, was: "accepted when the task began", is: issues, version };
  }
  const { reason, key, doing } = refusal;
  const entry = await entryOf(key);
  const was = entry === undefined ? "nothing" : wordsOfEntry(entry);
  const is = wordsOf(doing);
  return { reason, problem: mismatchProblem(key, was, is), key, was, is, version };
}

/** Why the task is blocked, as a sentence. */
function mismatchProblem(key: string, was: string, is: string): string {
  const difference = was === is ? `${is}, but with other details` : is;
  return `Under the key "${key}", the journal has ${was}, and the handler now does something else: ${difference}.`;
}

/** What people see of a question; all of it if it has no message. */
function messageIn(request: string): string {
  try {
    const params: unknown = JSON.parse(request);
    const message =
      typeof params === "object" && params !== null && "message" in params ? params.message : undefined;
    return typeof message === "string" ? JSON.stringify(message) : request;
  } catch {
    return request;
  }
}

const kindNames: Readonly<Record<JournalKind, string>> = {
  step: "step",
  input: "question",
  sleep: "sleep",
  call: "call",
  event: "wait for an event",
  artifact: "artifact",
  loop: "loop",
};

/** What readers of a recording see of it. */
export function replayMismatch({ key, had, doing }: Mismatch): HoldfastError {
  const kind = kindNames[had];
  const what = had === doing.kind ? `a different ${kind}` : `a different entry (${kind})`;
  return new HoldfastError(
    "replay_mismatch",
    `The journal has ${what} under the key "${key}", and the handler now does something else: ${wordsOf(doing)}. Use a new key for what has changed.`,
  );
}
