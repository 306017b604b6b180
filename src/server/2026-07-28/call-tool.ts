import type { CreateMessageResult, ListRootsResult } from "@modelcontextprotocol/server";
import {
  generation,
  createTaskResult,
  declaresTasks,
  missingCapabilities,
  inputRequiredResult,
  readRetry,
  type Capabilities,
} from "../../generation/2026-07-28.ts";
import { readIdempotencyKey } from "../../generation/extensions.ts";
import { metaOf, type JsonObject } from "../../generation/message.ts";
import { encodePrepared } from "../../runtime/execution/prepare-in-task.ts";
import type { Ask, Runtime, TaskCall } from "../../runtime/runtime.ts";
import type { Tool, Prepare } from "../../runtime/tool/tool.ts";
import { HoldfastError, tooLarge } from "../../task/fault.ts";
import { answerWithTask, type CallForm, reporting, runDirectly, taskCallOf } from "../waiting-call.ts";
import type { Prepared } from "../plain/call-tasks.ts";
import type { PlainCalls } from "../plain/plain-calls.ts";
import { becomesTask, missingForQuestion, type RequestStream } from "./admission.ts";
import { type Answer, type Caller, callerOf, completeAnswerOf, type ToolRequest } from "../request.ts";
import { callStream, openState, plainCall, resumed, sealState } from "./mrtr.ts";
import { requestHash } from "../../runtime/call-keys.ts";
import { outcomeOfThrow, validateArguments } from "../../runtime/tool/tool-outcome.ts";
import { elicit } from "../../runtime/questions/form.ts";
import { judgeAnswer } from "../../runtime/questions/questions.ts";
import { ClaimedKeys } from "../../runtime/journal/claimed-keys.ts";
import type { TaskCaller } from "../../runtime/tool/task-caller.ts";
import type { PrepareContext } from "../../runtime/tool/received-request.ts";
import type { InputMethod, JournalKey } from "../../task/journal.ts";
import { encodeJson } from "../../task/stored-text.ts";

/** What a call is answered with. */
export interface Callee {
  readonly runtime: Runtime;
  readonly plain: PlainCalls;
  readonly stream: RequestStream;
}

/** Answers a call of a registered tool, whose arguments are valid, with a task or directly; rejects with a `HoldfastError`. */
export async function callTool(
  callee: Callee,
  tool: Tool,
  request: ToolRequest,
  caller: Caller,
): Promise<Answer> {
  const { runtime, stream } = callee;
  const { capabilities, principal } = caller;
  // Read before anybody is asked anything, as its key may be none.
  if (tool.task === "optional" && !declaresTasks(capabilities)) {
    return callPlain(callee, tool, request, caller);
  }
  const call = becomesTask(tool, capabilities) ? taskCall(runtime, tool, request, caller) : undefined;
  const preparation = await prepareCall(runtime, tool, request, caller);
  if ("answer" in preparation) return preparation.answer;
  const { prepared, once } = preparation;
  return reporting(runtime, tool, request, callStream(stream, caller), async ({ progress, log }) => {
    const listened = { prepared, progress, log };
    if (call === undefined) {
      const run = { ...listened, principal, ask: cannotAskOf(tool) };
      return completeAnswerOf(await runDirectly(runtime, tool, request, run));
    }
    const sameRound = call.idempotencyKey === undefined ? once : undefined;
    const keyed = { ...call, ...sameRound, ...listened };
    const form: CallForm = {
      direct: completeAnswerOf,
      answer(created) {
        stream.onUndelivered(() => runtime.undelivered(created.task));
        return { result: { ...createTaskResult(created) } };
      },
    };
    return answerWithTask(runtime, keyed, request, form).catch(usedWithOtherAnswers(sameRound));
  });
}

function cannotAskOf({ name }: Tool): Ask {
  return async () => {
    throw new HoldfastError(
      "configuration",
      `Tool ${name} never runs as a task, so it cannot ask the client while it runs.`,
    );
  };
}

/** A call of a client without tasks, in its first or a later round. */
async function callPlain(
  { runtime, plain, stream }: Callee,
  tool: Tool,
  request: ToolRequest,
  caller: Caller,
): Promise<Answer> {
  const call = plainCall(runtime, request, caller, stream);
  const { capabilities, principal } = caller;
  // If a polling tool can answer for the client, there have to be a task and its questions first.
  const inTask = plain.policies.of(tool) === "ticket" && missingCapabilities(["elicitation"], capabilities);
  const rounds = tool.prepare !== undefined && !inTask;
  const task = await resumed(runtime, request, principal, rounds ? "another kind" : undefined);
  if (task !== undefined) return plain.continueCall(task, tool, call);
  if (!rounds) return plain.call(tool, call);
  const preparation = await prepareCall(runtime, tool, request, caller);
  if ("answer" in preparation) return preparation.answer;
  return plain.call(tool, call, preparation).catch(usedWithOtherAnswers(preparation.once));
}

/** The fault of a last round that came before with other answers: its key is not one that the caller knows. */
function usedWithOtherAnswers(once: Prepared["once"]): (error: unknown) => never {
  return (error) => {
    if (once === undefined || !(error instanceof HoldfastError) || error.code !== "idempotency_conflict")
      throw error;
    throw new HoldfastError(
      "invalid_params",
      "This requestState was already used with other answers. Call again without it.",
      { cause: error },
    );
  };
}

/** The task's form of the call; throws `invalid_params` for an invalid idempotency key. */
function taskCall(
  { registry }: Runtime,
  tool: Tool,
  request: ToolRequest,
  { capabilities, principal }: Caller,
): TaskCall {
  const idempotencyKey = readIdempotencyKey(metaOf(request.params), principal);
  const requestor = { generation, principal, scopes: request.access?.scopes };
  return {
    ...taskCallOf(registry, tool, request, { requestor, capabilities }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

/** The result of a tool's `prepare`: an answer that ends this request, or the raw JSON that it prepared, if any. */
export type Preparation = { readonly answer: Answer } | Prepared;

/** What one round hands to the next. Entries and not objects, since a key may be any string, `__proto__` too. */
interface Exchange {
  readonly answers: readonly (readonly [key: string, answer: RoundAnswer])[];
  /** Hashes of the questions that the client was given, by key. */
  readonly asked: readonly (readonly [key: string, hash: string])[];
}

/** The parts of a request that `prepare` uses. */
type PreparedRequest = Pick<ToolRequest, "params" | "signal" | "auth">;

/**
 * Runs a tool's `prepare` before its call becomes a task or is run directly. Nothing is kept between
 * the rounds but what the client hands back. Rejects with `invalid_params` for a `requestState` that is not for this
 * call.
 */
export async function prepareCall(
  runtime: Runtime,
  tool: Tool,
  { params, signal, auth }: PreparedRequest,
  { capabilities, principal }: Caller,
): Promise<Preparation> {
  if (tool.prepare === undefined) return { prepared: null };
  // The registry paired `prepare` with the schema that validates the arguments.
  const prepare = tool.prepare as Prepare<unknown, unknown>;
  const { requestState, inputResponses } = readRetry(params);
  const binding = ["prepare", requestHash(tool.name, params["arguments"] ?? {}), principal];
  const earlier = requestState === undefined ? undefined : await openState(runtime, binding, requestState);
  const answers = allAnswers(earlier as Exchange | undefined, inputResponses);
  const validated = await validateArguments(tool, params["arguments"]);
  if (!validated.ok) return { answer: completeAnswerOf(validated.outcome) };

  const maxBytes = runtime.options.maxBodyBytes;
  let end: RoundEnd;
  try {
    const round = { answers, caller: callerOf({ auth }, principal), capabilities, signal, maxBytes };
    end = await runRound((ask) => prepare(validated.args, ask), round);
    if (end.kind === "prepared") {
      const prepared = encodePrepared(tool, end.value, maxBytes);
      if (requestState === undefined) return { prepared };
      // A client that declares something else gets another kind of task.
      const kind = declaresTasks(capabilities) ? "task" : "plain";
      const idempotencyKey = `holdfast/round:${requestHash(kind, requestState)}`;
      return { prepared, once: { idempotencyKey, answers: inputResponses } };
    }
  } catch (error) {
    return { answer: completeAnswerOf(outcomeOfThrow(error, runtime.options.maxBodyBytes)) };
  }
  const exchange = nextExchange(answers, end.questions);
  const state = await sealState(runtime, binding, exchange);
  assertWithin(state, "The state with the answers so far", maxBytes); // else the next request would be refused
  return { answer: { result: { ...inputRequiredResult(end.questions, state) } } };
}

/** Those of earlier rounds and, of those that came with this request, the ones that were asked for. */
function allAnswers(earlier: Exchange | undefined, inputResponses: JsonObject): Map<string, RoundAnswer> {
  const answers = new Map(earlier?.answers);
  for (const [key, hash] of earlier?.asked ?? []) {
    if (Object.hasOwn(inputResponses, key)) answers.set(key, { hash, value: inputResponses[key] });
  }
  return answers;
}

/** A question that is asked again had no valid answer, so the answer is not kept. */
function nextExchange(
  answers: ReadonlyMap<string, RoundAnswer>,
  questions: readonly RoundQuestion[],
): Exchange {
  const kept = new Map(answers);
  for (const { key } of questions) kept.delete(key);
  return { answers: [...kept], asked: questions.map(({ key, hash }) => [key, hash]) };
}

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
    const judged = answer?.hash === hash ? judgeAnswer(method, params, answer.value) : undefined;
    if (judged !== undefined && "answer" in judged) return judged.answer;
    open.push({ key: claimed, method, params: JSON.parse(raw) as JsonObject, hash });
    // Not at once: those that are asked side by side are asked before the event loop turns.
    setImmediate(stuck.resolve);
    return new Promise<never>(() => undefined);
  };
  const context: PrepareContext = {
    caller,
    signal,
    elicit: (key, params) => elicit(key, params, (wire) => ask(key, "elicitation/create", { ...wire })),
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
  const text = encodeJson(value, what, maxBytes);
  assertWithin(text, what, maxBytes);
  return text;
}

/** Throws `too_large`, naming `what`. */
export function assertWithin(text: string, what: string, maxBytes: number): void {
  if (Buffer.byteLength(text) <= maxBytes) return;
  throw tooLarge(what, maxBytes);
}

/** Answers have the form of their method. A question that rejects need not be awaited. */
function handled<T>(answer: Promise<unknown>): Promise<T> {
  answer.catch(() => undefined);
  return answer as Promise<T>;
}
