import { fromJsonSchema, specTypeSchemas } from "@modelcontextprotocol/server";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { cutText } from "../../task/cut-text.ts";
import type { InputMethod } from "../../task/input.ts";
import { describeIssues } from "../describe-issues.ts";

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
  return faultOfAnswer(method, params, answer) === undefined;
}

/** Why the answer does not have that form, in a line; undefined where it has. */
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
