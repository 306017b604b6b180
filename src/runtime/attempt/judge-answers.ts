import { HoldfastError } from "../../task/fault.ts";
import type { InputAnswer, InputRequest } from "../../task/input.ts";
import { faultOfAnswer } from "./answer-form.ts";
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
  for (const answer of toOpen) {
    const question = byKey.get(answer.key);
    const fault = question && faultOf(question, answer);
    if (fault !== undefined) {
      throw new HoldfastError("invalid_params", `The answer to "${answer.key}" is not ${fault}.`);
    }
  }
  return toOpen;
}

/** What the answer is not, and why. */
function faultOf({ method, params }: InputRequest, answer: InputAnswer): string | undefined {
  const content: unknown = JSON.parse(textOf(answer));
  if ("error" in answer) return isClientError(content) ? undefined : "a JSON-RPC error";
  const fault = faultOfAnswer(method, JSON.parse(params) as Record<string, unknown>, content);
  return fault === undefined ? undefined : `what the question asks for: ${fault}`;
}

function textOf(answer: InputAnswer): string {
  return "error" in answer ? answer.error : answer.value;
}
