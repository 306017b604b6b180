import { fromJsonSchema, specTypeSchemas } from "@modelcontextprotocol/server";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import type { InputMethod } from "../../task/input.ts";

const answerSchemas = {
  "elicitation/create": specTypeSchemas.ElicitResult,
  "sampling/createMessage": specTypeSchemas.CreateMessageResult,
  "roots/list": specTypeSchemas.ListRootsResult,
} as const;

type Params = Readonly<Record<string, unknown>>;

/**
 * Whether a client's answer has the form that its question prescribes: that of its method and, for an accepted form,
 * that of the form's schema (X-P-021). Handlers see no other; the question stays open.
 */
export function isAnswerTo(method: InputMethod, params: Params, answer: unknown): boolean {
  if (answerSchemas[method]["~standard"].validate(answer).issues !== undefined) return false;
  return method !== "elicitation/create" || fitsForm(params["requestedSchema"], answer as Params);
}

function fitsForm(schema: unknown, { action, content }: Params): boolean {
  if (action !== "accept" || typeof schema !== "object" || schema === null) return true;
  try {
    // The SDK's type for a JSON Schema is that of its validator; any object is one.
    // A validator of its own: the SDK's default keeps every schema for ever, and knows two with one `$id` as the first.
    const form = fromJsonSchema(schema as Parameters<typeof fromJsonSchema>[0], new AjvJsonSchemaValidator());
    const checked = form["~standard"].validate(content ?? {});
    return checked instanceof Promise || checked.issues === undefined;
  } catch {
    return true; // by a schema that is none, no answer can be judged, and the question must not stay open for ever
  }
}
