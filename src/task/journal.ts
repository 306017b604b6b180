/**
 * The journal of a task: one entry for each step, question, wait, sleep, call and artifact of its handler, and for a loop.
 * - A key is used once per task, and an entry ends once: the first end stays.
 * - The entry of a loop holds the state of its round and never ends. The keys of a round carry its number, and go with it.
 * - Ends are numbered in the order of their commits, so that a replay shows them in that order.
 */

export type JournalKind = "step" | "input" | "sleep" | "call" | "event" | "artifact" | "loop";

/** Whether entries of this kind are ended by something else than the attempt: a client, another task of the server, or an event. */
export function isEndedByOthers(kind: JournalKind): boolean {
  return kind === "input" || kind === "call" || kind === "event";
}

/** What a handler waits for. `retry`: the next try of a step, or of the handler; `limit`: a permit of a limit by name. */
export type WaitReason = "question" | "event" | "call" | "sleep" | "retry" | "limit";

/** In the order of what operators are told of a handler that waits for several things. */
export const waitReasons: Readonly<Record<WaitReason, true>> = {
  question: true,
  event: true,
  call: true,
  sleep: true,
  retry: true,
  limit: true,
};

/** A journal entry without its texts. */
export interface JournalHead {
  readonly key: string;
  readonly kind: JournalKind;
  /** Inputs only: the kind of request that the client gets. */
  readonly method: InputMethod | null;
  /**
   * Hash of an input's method and params, of a call's tool and arguments, or of an event's name. A different one under the same key cannot
   * be replayed.
   */
  readonly requestHash: string | null;
  /** Epoch ms at which an input or a wait for an event times out, a sleep ends, or a step is retried; null if there is none. */
  readonly deadlineAt: number | null;
  /** Steps: how often it failed with a retry to follow; for a poll, since it last looked without a failure. Loops: the number of its round. */
  readonly tries: number;
  /**
   * Epoch ms at which it began: for a step, the first call of its function; otherwise when the entry was opened. Null for a step whose
   * start was not reported.
   */
  readonly begunAt: number | null;
  /** Epoch ms; null until the entry has ended. For a step, null only while a retry follows. */
  readonly doneAt: number | null;
  /**
   * The record's version after the change that ended this entry. Entries end in this order; those ended by one command, in the order of the
   * journal. Null while it has not ended.
   */
  readonly doneVersion: number | null;
}

/** When an entry ended. */
export type JournalEndTime = Pick<JournalHead, "key" | "doneAt" | "doneVersion">;

/** The result or error of an entry. */
export interface JournalEnd {
  readonly key: string;
  /** Raw JSON of the result; null if an entry has none, has failed or has not ended. */
  readonly value: string | null;
  /**
   * Raw JSON of the error (name, message, code, data) of a step, or of an input or event that timed out; or the JSON-RPC error (code,
   * message, data) with which the client answered an input, whose code is a number; or how a call failed (`CallFailure`).
   */
  readonly error: string | null;
}

/**
 * Something that an attempt must not do twice. Its key is unique in its task. On replay the kind has to match, and for an input also the
 * hash of its method and params. Order, and entries that are not reached, do not matter.
 */
export interface JournalEntry extends JournalHead, JournalEnd {
  /** The raw JSON params of an input, the tool of a call, or the name of an event. */
  readonly request: string | null;
}

/** A journal key. Use an array for items of a collection: `["hash", path]`. */
export type JournalKey = string | readonly (string | number)[];

/** The stored and wire form of a key: a string as it is, an array as JSON. */
export function encodeJournalKey(key: JournalKey): string {
  return typeof key === "string" ? key : JSON.stringify(key);
}

/** A round of a loop: the name of the loop, and the number of the round as a part of keys. */
export type RoundName = readonly [loop: string, round: string];

export function roundName(loop: string, round: number): RoundName {
  return [loop, `round ${round}`];
}

/** A key of a round, from that of the author. */
export function roundKey(round: RoundName, key: JournalKey): JournalKey {
  return [...round, ...(typeof key === "string" ? [key] : key)];
}

/** What the stored keys of all rounds of a loop begin with, and no others do. */
export function roundsPrefix(loop: string): string {
  return JSON.stringify([loop, "round "]).slice(0, -2);
}

/** The round of a key, if it has one, and the rest of the key, which is the author's. */
export function splitRound(key: JournalKey): {
  readonly round: RoundName | undefined;
  readonly own: JournalKey;
} {
  if (typeof key === "string") return { round: undefined, own: key };
  const [loop, round, ...own] = key;
  const isRound = typeof loop === "string" && typeof round === "string" && /^round \d+$/.test(round);
  return isRound && own.length > 0 ? { round: [loop, round], own } : { round: undefined, own: key };
}

/**
 * The common name of similar entries, of which there are few: for items of a collection, the first part of the key. A key that is a single
 * text may look like the encoded form of a list.
 */
export function stemOf(key: string): string {
  if (!key.startsWith("[")) return key;
  try {
    const [first] = splitRound(JSON.parse(key) as JournalKey).own;
    return first === undefined ? key : String(first);
  } catch {
    return key;
  }
}

/** The requests that a task can send to its client while it runs. */
export const inputMethods = ["elicitation/create", "sampling/createMessage", "roots/list"] as const;

/** The MCP method of a question to the client. */
export type InputMethod = (typeof inputMethods)[number];

type Capabilities = Readonly<Record<string, unknown>>;

/**
 * The client capabilities that a question needs and the client did not declare, in the form in which capabilities are declared; undefined
 * if it can be asked. No question is asked without its capability (X-B-011, A-24).
 */
export function missingForInput(
  method: InputMethod,
  params: Capabilities,
  declared: Capabilities,
): Capabilities | undefined {
  switch (method) {
    case "sampling/createMessage":
      return declared["sampling"] === undefined ? { sampling: {} } : undefined;
    case "roots/list":
      return declared["roots"] === undefined ? { roots: {} } : undefined;
    case "elicitation/create":
      return missingForElicitation(params["mode"] === "url" ? "url" : "form", declared["elicitation"]);
  }
}

/** A client that names no mode can show forms: the first revision of elicitation had only those. */
function missingForElicitation(mode: "form" | "url", declared: unknown): Capabilities | undefined {
  const modes = typeof declared === "object" && declared !== null ? declared : undefined;
  if (modes === undefined) return { elicitation: mode === "url" ? { url: {} } : {} };
  const namesModes = "form" in modes || "url" in modes;
  if (mode in modes || (mode === "form" && !namesModes)) return undefined;
  return { elicitation: { [mode]: {} } };
}

/** A question to the client. `key` is unique for the whole life of its task and never used again. */
export interface InputRequest {
  readonly key: string;
  readonly method: InputMethod;
  /** Raw JSON text of the request's params; `{}` if it has none. */
  readonly params: string;
  /** For a question of a task below the one that shows it: further scopes needed to answer it. Left out: none. */
  readonly requiredScopes?: readonly string[];
}

/**
 * An answer. `value` is the raw JSON text of the method's result object, `error` that of the JSON-RPC error (`{ code, message, data? }`)
 * with which a client answered a nested request.
 */
export type InputAnswer =
  { readonly key: string; readonly value: string } | { readonly key: string; readonly error: string };

/** Identifies a task's question on the root of its tree. */
export interface ChildInput {
  /** The task that asks. */
  readonly taskId: string;
  /** The question's key there. */
  readonly key: string;
}

/** The prefix of such keys, which the root's own questions do not have. */
const reserved = "holdfast/call";

/** The key of a question on the root. */
export function childInputKey({ taskId, key }: ChildInput): string {
  return JSON.stringify([reserved, taskId, key]);
}

/** The question behind a key on the root; undefined for one of the root's own. */
export function childInputOf(rootKey: string): ChildInput | undefined {
  if (!rootKey.startsWith(`["${reserved}",`)) return undefined;
  let parts: unknown;
  try {
    parts = JSON.parse(rootKey);
  } catch {
    return undefined; // the key can be anything that a client sends
  }
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const taskId: unknown = parts[1];
  const key: unknown = parts[2];
  return typeof taskId === "string" && typeof key === "string" ? { taskId, key } : undefined;
}

/** What attempts say of loops. */
export interface LoopCommands {
  /**
   * Ends a round of a loop, whose entry is `key`: `value`, the state of the round `round`, replaces all entries of the loop's rounds, and the
   * task is queued to go on with it. `open` are the questions, calls and waits for events of the rounds that may be open: they end unanswered,
   * the tasks of these calls are cancelled, and ended tasks below this one are deleted.
   */
  next_round: {
    readonly id: string;
    readonly token: string;
    readonly key: string;
    /** Raw JSON. */
    readonly value: string;
    readonly round: number;
    readonly open: readonly string[];
  };
}
