import { fromJsonSchema, type ToolAnnotations } from "@modelcontextprotocol/server";
import { describeIssues } from "../../runtime/describe-issues.ts";
import type { PollingToolNames, PollingToolKind } from "./plain-policies.ts";

type JsonSchema = Parameters<typeof fromJsonSchema>[0];

interface Definition {
  readonly description: (names: PollingToolNames) => string;
  readonly inputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
}

function objectOf(required: Record<string, object>, optional: Record<string, object> = {}): JsonSchema {
  const properties = { ...required, ...optional };
  return { type: "object", properties, required: Object.keys(required), additionalProperties: false };
}

const reference = {
  type: "string",
  description: "The reference, exactly as an earlier answer gave it. Never make one up.",
};

const question = {
  type: "string",
  description: "The name of the question that is answered, exactly as the last answer gave it.",
};

const answer = {
  anyOf: [{ type: "object" }, { type: "string" }],
  description:
    'An object with the fields of the question, or "decline" or "cancel"; a string where a message is asked for.',
};

const getsResult =
  "Gets the result of a tool call that was answered with a reference, and waits for it a while. If the answer says that it " +
  "is still running, call this again. Not for calls that were answered with their result, and not without a reference";

/**
 * The polling tools as they are listed. The SDK caches what it compiles from a schema object and never frees it, so all
 * servers share these objects.
 */
const definitions: Readonly<Record<PollingToolKind | "result_and_answer", Definition>> = {
  result: {
    description: ({ list }) =>
      list === undefined ? `${getsResult}.` : `${getsResult}: ${list} finds a lost one, where it is there.`,
    inputSchema: objectOf({ reference }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  result_and_answer: {
    description: (names) =>
      `${definitions.result.description(names)} If the last answer shows a question, give its answer too, once; ask the ` +
      "user unless you know.",
    inputSchema: objectOf({ reference }, { question, answer }),
    annotations: { destructiveHint: false, openWorldHint: false },
  },
  cancel: {
    description: ({ result }) =>
      "Stops work that a tool call began and answered with a reference. Only when it is not wanted any more: there will " +
      `be no result. Not to look how far it is; that is ${result}.`,
    inputSchema: objectOf({ reference }),
    annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
  answer: {
    description: ({ result }) =>
      "Answers the question that a tool call with a reference waits for. Only when an answer shows such a question; ask " +
      `the user unless you know. Then call ${result}.`,
    inputSchema: objectOf({ reference, answer }, { question }),
    annotations: { destructiveHint: false, openWorldHint: false },
  },
  list: {
    description: ({ result }) =>
      "Lists your tool calls that are still running, with their references. Only when a reference was lost. Not to " +
      `wait for one: that is ${result}.`,
    inputSchema: objectOf({}),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
};

/** A polling tool as it is listed. Without a tool for answers, that for results takes them. */
export function definitionOf(kind: PollingToolKind, { answer: name }: PollingToolNames): Definition {
  return definitions[kind === "result" && name === undefined ? "result_and_answer" : kind];
}

/** The compiled schemas, for the same reason. */
const schemas = new Map<Definition, ReturnType<typeof fromJsonSchema>>();

/** What is wrong with the arguments of a polling tool, in the words of the SDK; undefined if they are valid. */
export async function faultOfArguments(definition: Definition, given: unknown): Promise<string | undefined> {
  const schema = schemas.get(definition) ?? fromJsonSchema(definition.inputSchema);
  schemas.set(definition, schema);
  const { issues } = await schema["~standard"].validate(given ?? {});
  return issues === undefined ? undefined : describeIssues(issues);
}
