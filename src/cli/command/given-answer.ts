import type { InputRequest, InputResult } from "../../client/question/input-request.ts";
import { isJsonObject, type JsonObject } from "../../generation/json-object.ts";
import { readInputSchema } from "../arguments/input-schema.ts";
import { completeArguments, parseArguments } from "../arguments/parse-arguments.ts";
import { UsageError } from "../usage-error.ts";

/** What the command line says to a question. */
export interface GivenAnswer {
  readonly action: "accept" | "decline" | "cancel";
  readonly pairs: readonly string[];
  /** From `--args`. */
  readonly given: JsonObject;
}

/** The answer in the form that the question asks for. Throws a UsageError for one that does not fit it. */
export function answerTo(
  { method, params }: InputRequest,
  { action, pairs, given }: GivenAnswer,
): InputResult {
  if (method !== "elicitation/create") {
    throw new UsageError(`The task asks for ${method}, which a person cannot answer.`);
  }
  if (action !== "accept") return { action };
  const schema = "requestedSchema" in params ? params.requestedSchema : undefined;
  if (!isJsonObject(schema)) {
    if (pairs.length > 0) throw new UsageError("The question takes no values: answer it with --accept.");
    return { action };
  }
  const form = readInputSchema(schema);
  const values = { ...defaultsOf(form.properties), ...parseArguments(pairs, form, given) };
  const content = completeArguments(values, form);
  return { action, content: content as NonNullable<Extract<InputResult, { action: string }>["content"]> };
}

/** A form on a terminal begins with them too. */
function defaultsOf(properties: ReadonlyMap<string, JsonObject>): JsonObject {
  const withDefault = [...properties].filter(([, schema]) => schema["default"] !== undefined);
  return Object.fromEntries(withDefault.map(([key, schema]) => [key, schema["default"]]));
}
