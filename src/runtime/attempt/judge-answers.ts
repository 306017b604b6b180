import { HoldfastError } from "../../task/fault.ts";
import type { InputAnswer, InputRequest } from "../../task/input.ts";
import { isAnswerTo } from "./answer-form.ts";
import { isClientError } from "./input-failed.ts";

export interface JudgedAnswers {
  /** Those that can be taken. */
  readonly fitting: readonly InputAnswer[];
  /** What the requestor is told of the others, after the fitting ones were taken. */
  readonly problem: HoldfastError | undefined;
}

/** Holds answers to what their questions ask for; one to no open question is passed over. Throws where one is too large. */
export function judgeAnswers(
  questions: readonly InputRequest[],
  answers: readonly InputAnswer[],
  maxBytes: number,
): JudgedAnswers {
  if (answers.some((answer) => Buffer.byteLength(textOf(answer)) > maxBytes)) {
    throw new HoldfastError("invalid_params", `The answer is larger than ${maxBytes} bytes.`);
  }
  const byKey = new Map(questions.map((question) => [question.key, question]));
  const fitting = answers.filter((answer) => fits(byKey.get(answer.key), answer));
  const unfit = answers.find((answer) => byKey.has(answer.key) && !fitting.includes(answer));
  return { fitting, problem: unfit === undefined ? undefined : misfit(unfit) };
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
