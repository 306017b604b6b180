import { inputRequiredResult, readRetry } from "../../generation/2026-07-28.ts";
import type { JsonObject } from "../../generation/message.ts";
import { requestHash } from "../../runtime/request-hash.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { outcomeOfThrow, validateArguments } from "../../runtime/tool/tool-outcome.ts";
import type { Prepare, Tool } from "../../runtime/tool/tool.ts";
import { completeAnswerOf, type Answer } from "../answer.ts";
import { callerOf, type Caller, type ToolRequest } from "../request.ts";
import {
  assertWithin,
  encodeWithin,
  runRound,
  type RoundAnswer,
  type RoundEnd,
  type RoundQuestion,
} from "./prepare-round.ts";
import { openState, sealState } from "./request-state.ts";

/** The result of a tool's `prepare`: an answer that ends this request, or the raw JSON that it prepared, if any. */
export type Preparation = { readonly answer: Answer } | { readonly prepared: string | null };

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
    if (end.kind === "prepared") return { prepared: encodePrepared(tool, end.value, maxBytes) };
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

/** A `prepare` that returns nothing has only checked or asked. */
function encodePrepared(tool: Tool, value: unknown, maxBytes: number): string | null {
  return value === undefined
    ? null
    : encodeWithin(value, `The value that prepare of tool ${tool.name} returned`, maxBytes);
}
