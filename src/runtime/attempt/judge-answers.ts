import { HoldfastError } from "../../task/fault.ts";
import type { InputAnswer, InputRequest } from "../../task/input.ts";
import { isAnswerTo } from "./answer-form.ts";
import { isClientError } from "./input-failed.ts";

/**
 * Those of the answers that are to open questions; the others are passed over. Throws `invalid_params` where one of them is
 * not what its question asks for, or is too large: then none of them is taken.
 */
export function judgeAnswers(
  questions: readonly InputRequest[],
  answers: readonly InputAnswer[],
  maxBytes: number,
): readonly InputAnswer[] {
  const byKey = new Map(questions.map((question) => [question.key, question]));
  const toOpen = answers.filter(({ key }) => byKey.has(key));
  if (toOpen.some((answer) => Buffer.byteLength(textOf(answer)) > maxBytes)) {
    throw new HoldfastError("invalid_params", `The answer is larger than ${maxBytes} bytes.`);
  }
  const unfit = toOpen.find((answer) => !fits(byKey.get(answer.key), answer));
  if (unfit !== undefined) throw misfit(unfit);
  return toOpen;
}

function fits(question: InputRequest | undefined, answer: InputAnswer): boolean {
  if (question === undefined) return false;
  const content: unknown = JSON.parse(textOf(answer));
  if ("error" in answer) return isClientError(content);
  return isAnswerTo(question.method, JSON.parse(question.params) as Record<string, unknown>, content);
}

function textOf(answer: InputAnswer): string {
  return "error" in answer ? answer.error : answer.value;
}

function misfit(answer: InputAnswer): HoldfastError {
  const wanted = "error" in answer ? "a JSON-RPC error" : "what the question asks for";
  return new HoldfastError("invalid_params", `The answer to "${answer.key}" is not ${wanted}.`);
}
