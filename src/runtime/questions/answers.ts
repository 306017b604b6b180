import { fromJsonSchema, specTypeSchemas } from "@modelcontextprotocol/server";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { cutText } from "../../task/stored-text.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { InputAnswer, InputMethod, InputRequest } from "../../task/journal.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { describeIssues } from "../describe-issues.ts";

const answerSchemas = {
  "elicitation/create": specTypeSchemas.ElicitResult,
  "sampling/createMessage": specTypeSchemas.CreateMessageResult,
  "roots/list": specTypeSchemas.ListRootsResult,
} as const;

type Params = Readonly<Record<string, unknown>>;

/**
 * Judges an update: what someone sent for several questions at once.
 * - A value under the key of an open question is its answer, whatever it is.
 * - If one of these does not fit its question, or is too large, this throws `invalid_params` with its key, and none is accepted.
 * - Under any other key, anything is ignored.
 */
export function judgeAnswers(
  questions: readonly InputRequest[],
  answers: readonly InputAnswer[],
  maxBytes: number,
): readonly InputAnswer[] {
  const byKey = new Map(questions.map((question) => [question.key, question]));
  return answers.filter((answer) => {
    const question = byKey.get(answer.key);
    const fault = question && faultOf(question, answer, maxBytes);
    if (fault === undefined) return question !== undefined;
    throw new HoldfastError("invalid_params", `The answer to "${answer.key}" ${fault}.`);
  });
}

/** Why the answer is invalid. */
function faultOf(
  { method, params }: InputRequest,
  answer: InputAnswer,
  maxBytes: number,
): string | undefined {
  const text = textOf(answer);
  if (Buffer.byteLength(text) > maxBytes) return `is larger than ${maxBytes} bytes`;
  const content: unknown = JSON.parse(text);
  if ("error" in answer) return isClientError(content) ? undefined : "is not a JSON-RPC error";
  const fault = faultOfAnswer(method, JSON.parse(params) as Record<string, unknown>, content);
  return fault === undefined ? undefined : `does not fit the question: ${fault}`;
}

function textOf(answer: InputAnswer): string {
  return "error" in answer ? answer.error : answer.value;
}

/**
 * Whether a client's answer has the form that its question requires: that of its method and, for an accepted form, that of the form's
 * schema (X-P-021). Handlers get no other answers; the question stays open.
 */
export function isAnswerTo(method: InputMethod, params: Params, answer: unknown): boolean {
  return faultOfAnswer(method, params, answer) === undefined;
}

/** Why the answer is invalid, in a line; undefined if it is valid. */
export function faultOfAnswer(method: InputMethod, params: Params, answer: unknown): string | undefined {
  const { issues } = answerSchemas[method]["~standard"].validate(answer);
  if (issues !== undefined) return cutText(describeIssues(issues));
  return method === "elicitation/create"
    ? faultOfForm(params["requestedSchema"], answer as Params)
    : undefined;
}

function faultOfForm(schema: unknown, { action, content }: Params): string | undefined {
  if (action !== "accept" || typeof schema !== "object" || schema === null) return undefined;
  try {
    // The SDK's type for a JSON Schema is that of its validator; any object is one.
    // A validator of its own: the SDK's default keeps every schema for ever, and knows two with one `$id` as the first.
    const form = fromJsonSchema(schema as Parameters<typeof fromJsonSchema>[0], new AjvJsonSchemaValidator());
    const checked = form["~standard"].validate(content ?? {});
    if (checked instanceof Promise || checked.issues === undefined) return undefined;
    return cutText(describeIssues(checked.issues));
  } catch {
    return undefined; // by a schema that is none, no answer can be judged, and the question must not stay open for ever
  }
}

/** Whether parsed JSON is the error object of a JSON-RPC response. */
export function isClientError(value: unknown): value is JsonRpcError {
  if (typeof value !== "object" || value === null || !("code" in value) || !("message" in value))
    return false;
  return Number.isSafeInteger(value.code) && typeof value.message === "string";
}

/**
 * The rejection of a handler's question whose client answered with an error. Only the question failed: uncaught, it makes the tool's result
 * one with `isError`, and the client does not get its own error back as that of its call.
 */
export function inputFailed(key: string, error: JsonRpcError): HoldfastError {
  return new HoldfastError(
    "input_failed",
    `The client answered the question "${key}" with an error: ${error.message}`,
    { data: error },
  );
}
