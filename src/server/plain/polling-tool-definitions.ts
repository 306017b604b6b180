import { fromJsonSchema, type Tool, type ToolAnnotations } from "@modelcontextprotocol/server";
import { sameJson } from "../../generation/same-json.ts";
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
  description: "The reference, copied exactly from an earlier response. Never make one up.",
};

const question = {
  type: "string",
  description: "The name of the question you are answering, copied exactly from the last response.",
};

const answer = {
  anyOf: [{ type: "object" }, { type: "string" }],
  description:
    'An object with the fields that the question asks for, or a string if it asks for a message; or "decline" or "cancel".',
};

const getsResult =
  "Gets the result of an earlier tool call that returned a reference instead of its result. Waits a while for it; if the " +
  "response says that the call is still running, call this again. Do not use it for a call that already returned its " +
  "result, or without a reference.";

/**
 * The polling tools as they are listed. The SDK caches what it compiles from a schema object and never frees it, so all
 * servers share these objects.
 */
const definitions: Readonly<Record<PollingToolKind | "result_and_answer", Definition>> = {
  result: {
    description: ({ list }) =>
      list === undefined
        ? getsResult
        : `${getsResult} If you have lost the reference and have the tool ${list}, look it up there.`,
    inputSchema: objectOf({ reference }),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  result_and_answer: {
    description: (names) =>
      `${definitions.result.description(names)} If the last response asks a question, pass the answer here, once; ask ` +
      "the user unless you already know it.",
    inputSchema: objectOf({ reference }, { question, answer }),
    annotations: { destructiveHint: false, openWorldHint: false },
  },
  cancel: {
    description: ({ result }) =>
      "Stops a running tool call that returned a reference. Use it only if the result is no longer wanted: a stopped call " +
      `has no result. To check on a call, use ${result} instead.`,
    inputSchema: objectOf({ reference }),
    annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
  answer: {
    description: ({ result }) =>
      "Answers a question that a running tool call asks. Use it only if a response shows such a question; ask the user " +
      `unless you already know the answer. Then call ${result}.`,
    inputSchema: objectOf({ reference, answer }, { question }),
    annotations: { destructiveHint: false, openWorldHint: false },
  },
  list: {
    description: ({ result }) =>
      "Lists your tool calls that are still running, with their references. Use it only if you have lost a reference. " +
      `To wait for a call, use ${result} instead.`,
    inputSchema: objectOf({}),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
};

/** A polling tool as it is listed. Without a tool for answers, that for results takes them. */
export function definitionOf(kind: PollingToolKind, { answer: name }: PollingToolNames): Definition {
  return definitions[kind === "result" && name === undefined ? "result_and_answer" : kind];
}

/** Whether a tool of another server is one of these, under whatever name: whoever has tasks there needs none. */
export function isPollingTool(tool: Pick<Tool, "description" | "inputSchema">): boolean {
  const { properties = {}, required } = tool.inputSchema;
  return Object.values(definitions).some(({ inputSchema, description }) =>
    inputSchema.properties?.["reference"] === undefined
      ? tool.description?.split(".")[0] === description({ result: "", cancel: "" }).split(".")[0]
      : sameJson(
          { properties, required },
          { properties: inputSchema.properties, required: inputSchema.required },
        ),
  );
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
