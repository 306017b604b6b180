import type { CreateMessageResult, ElicitResult, ListRootsResult } from "@modelcontextprotocol/server";
import type { Capabilities } from "../../generation/2026-07-28.ts";
import type { JsonObject } from "../../generation/message.ts";
import { isAnswerTo } from "../../runtime/questions/answers.ts";
import { ClaimedKeys } from "../../runtime/journal/claimed-keys.ts";
import type { TaskCaller, PrepareContext } from "../../runtime/tool/task-context.ts";
import { requestHash } from "../../runtime/request-hash.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { InputMethod, JournalKey } from "../../task/journal.ts";
import { encodeJson } from "../../task/stored-text.ts";
import { missingForQuestion } from "./admission.ts";

/** An answer belongs to the very question that was asked: `hash` is over its method and params. */
export interface RoundAnswer {
  readonly hash: string;
  readonly value: unknown;
}

export interface RoundQuestion {
  readonly key: string;
  readonly method: InputMethod;
  readonly params: JsonObject;
  readonly hash: string;
}

export interface Round {
  /** The answers so far, by key. */
  readonly answers: ReadonlyMap<string, RoundAnswer>;
  readonly caller: TaskCaller;
  /** What the caller declared on this very request. */
  readonly capabilities: Capabilities;
  readonly signal: AbortSignal;
  /** Of a question, as UTF-8 JSON text. */
  readonly maxBytes: number;
}

export type RoundEnd =
  | { readonly kind: "prepared"; readonly value: unknown }
  | { readonly kind: "questions"; readonly questions: readonly RoundQuestion[] };

/**
 * Runs `prepare` once, from its top, until it ends or needs an answer to continue. Rejects with what it throws. If it waits for an answer,
 * it is dropped without notice.
 */
export async function runRound(
  prepare: (ask: PrepareContext) => unknown,
  { answers, caller, capabilities, signal, maxBytes }: Round,
): Promise<RoundEnd> {
  const keys = new ClaimedKeys();
  const open: RoundQuestion[] = [];
  const stuck = Promise.withResolvers<void>();

  const ask = async (key: JournalKey, method: InputMethod, params: JsonObject): Promise<unknown> => {
    const claimed = keys.claim(key);
    const missing = missingForQuestion(claimed, method, params, capabilities);
    if (missing !== undefined) throw missing;
    const raw = encodeWithin(params, `The question "${claimed}"`, maxBytes);
    const hash = requestHash(method, params);
    const answer = answers.get(claimed);
    if (answer?.hash === hash && isAnswerTo(method, params, answer.value)) return answer.value;
    open.push({ key: claimed, method, params: JSON.parse(raw) as JsonObject, hash });
    // Not at once: those that are asked side by side are asked before the event loop turns.
    setImmediate(stuck.resolve);
    return new Promise<never>(() => undefined);
  };
  const context: PrepareContext = {
    caller,
    signal,
    elicit: (key, params) =>
      handled<ElicitResult>(ask(key, "elicitation/create", { mode: "form", ...params })),
    sample: (key, params) => handled<CreateMessageResult>(ask(key, "sampling/createMessage", { ...params })),
    roots: (key) => handled<ListRootsResult>(ask(key, "roots/list", {})),
  };

  const done = (async () => ({ kind: "prepared" as const, value: await prepare(context) }))();
  // What was left may still ask or throw: neither counts any more.
  const asks = stuck.promise.then(() => ({ kind: "questions" as const, questions: [...open] }));
  return Promise.race([done, asks]);
}

/** The JSON text of `value`; throws `not_json` and `too_large`, both naming `what`. */
export function encodeWithin(value: unknown, what: string, maxBytes: number): string {
  const text = encodeJson(value, what);
  assertWithin(text, what, maxBytes);
  return text;
}

/** Throws `too_large`, naming `what`. */
export function assertWithin(text: string, what: string, maxBytes: number): void {
  if (Buffer.byteLength(text) <= maxBytes) return;
  throw new HoldfastError("too_large", `${what} is larger than ${maxBytes} bytes.`);
}

/** Answers have the form of their method. A question that rejects need not be awaited. */
function handled<T>(answer: Promise<unknown>): Promise<T> {
  answer.catch(() => undefined);
  return answer as Promise<T>;
}
