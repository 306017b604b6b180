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
  return answers.flatMap((answer) => {
    const question = byKey.get(answer.key);
    if (question === undefined) return [];
    const judged = judgeOne(question, answer, maxBytes);
    if (typeof judged === "object") return [judged];
    throw new HoldfastError("invalid_params", `The answer to "${answer.key}" ${judged}.`);
  });
}

/** The answer to be stored, or why it is invalid. */
function judgeOne(
  { method, params }: InputRequest,
  answer: InputAnswer,
  maxBytes: number,
): InputAnswer | string {
  const text = textOf(answer);
  if (Buffer.byteLength(text) > maxBytes) return `is larger than ${maxBytes} bytes`;
  const parsed: unknown = JSON.parse(text);
  if ("error" in answer) return isClientError(parsed) ? answer : "is not a JSON-RPC error";
  const judged = judgeAnswer(method, JSON.parse(params) as Record<string, unknown>, parsed);
  if ("fault" in judged) return `does not fit the question: ${judged.fault}`;
  return judged.answer === parsed ? answer : { ...answer, value: JSON.stringify(judged.answer) };
}

function textOf(answer: InputAnswer): string {
  return "error" in answer ? answer.error : answer.value;
}

/** The answer as its handler gets it, or why it is invalid, in a line. */
export type Judged = { readonly answer: Answer } | { readonly fault: string };

type Answer = Record<string, unknown>;

/**
 * Whether a client's answer has the form that its question requires: that of its method and, for an accepted form, that of the form's
 * schema (X-P-021). Handlers get no other answers; the question stays open.
 */
export function judgeAnswer(method: InputMethod, params: Params, given: unknown): Judged {
  const { issues } = answerSchemas[method]["~standard"].validate(given);
  if (issues !== undefined) return { fault: cutText(describeIssues(issues)) };
  const answer = given as Answer;
  if (method !== "elicitation/create") return { answer };
  const fault = faultOfForm(params["requestedSchema"], answer);
  if (fault !== undefined) return { fault };
  // Some clients send null for no content. That is no content for handlers too.
  const { content, ...rest } = answer;
  return { answer: content === null ? rest : answer };
}

function faultOfForm(schema: unknown, { action, content }: Params): string | undefined {
  if (action !== "accept" || typeof schema !== "object" || schema === null) return undefined;
  try {
    // The SDK's type for a JSON Schema is that of its validator; any object is one.
    // A validator of its own: the SDK's default keeps every schema for ever, and knows two with one `$id` as the first.
    const form = fromJsonSchema(schema as Parameters<typeof fromJsonSchema>[0], new AjvJsonSchemaValidator());
    const checked = form["~standard"].validate(content ?? {});
    if (checked instanceof Promise || checked.issues === undefined) return undefined;
    return cutText([describeIssues(checked.issues), ...choicesMissed(schema, content)].join("; "));
  } catch {
    return undefined; // by a schema that is none, no answer can be judged, and the question must not stay open for ever
  }
}

/** For each field whose value is none of its choices: what they are, which the validator does not say. */
function choicesMissed(schema: object, content: unknown): string[] {
  const fields: unknown = "properties" in schema ? schema.properties : undefined;
  if (!isFields(fields) || !isFields(content)) return [];
  return Object.entries(fields).flatMap(([name, field]) => {
    const given = content[name];
    if (!isFields(field) || given === undefined) return [];
    const many = isFields(field["items"]);
    const choices = choicesOf(isFields(field["items"]) ? field["items"] : field);
    const values = many && Array.isArray(given) ? given : [given];
    if (choices === undefined || values.every((value) => choices.includes(value))) return [];
    const listed = choices.map((choice) => JSON.stringify(choice)).join(", ");
    return [`${JSON.stringify(name)} takes ${many ? "any of" : "one of"} ${listed}`];
  });
}

function isFields(value: unknown): value is Params {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `enum`, or a `const` each in `oneOf`, and in `anyOf` for the items of a list. */
function choicesOf({ enum: values, oneOf, anyOf }: Params): readonly unknown[] | undefined {
  if (Array.isArray(values)) return values as readonly unknown[];
  const options: unknown = oneOf ?? anyOf;
  return Array.isArray(options)
    ? options.map((option: unknown) => isFields(option) && option["const"])
    : undefined;
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
