import {
  fromJsonSchema,
  type CallToolResult,
  type McpServer,
  type ServerContext,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import { companionKinds, type CompanionKind, type CompanionNames } from "./companion-names.ts";
import { scopeOf, type PlainOwner } from "./owner.ts";
import { nameTaken, type PlainPolicies } from "./policy.ts";

type JsonSchema = Parameters<typeof fromJsonSchema>[0];

interface Definition {
  readonly description: (names: CompanionNames) => string;
  readonly inputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
}

function objectOf(properties: Record<string, object>): JsonSchema {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

const reference = {
  type: "string",
  description: "The reference, exactly as an earlier answer gave it. Never make one up.",
};

/** The SDK keeps what it makes of each schema object for ever: these are made once, and not for each server. */
const definitions: Readonly<Record<CompanionKind, Definition>> = {
  result: {
    description: ({ list }) =>
      "Gets the result of a tool call that was answered with a reference, and waits for it a while. If the answer says " +
      "that it is still running, call this again. Not for calls that were answered with their result, and not " +
      `without a reference: ${list} finds a lost one, where it is there.`,
    inputSchema: objectOf({ reference }),
    annotations: { readOnlyHint: true, openWorldHint: false },
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
    inputSchema: objectOf({
      reference,
      answer: {
        anyOf: [{ type: "object" }, { type: "string" }],
        description:
          'An object with the fields of the question, or "decline" or "cancel"; a string where a message is asked for.',
      },
    }),
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

/**
 * Adds the companions to a server that is not connected yet, as its own tools; `call` answers them. Throws
 * `configuration` where an author's own tool has such a name.
 */
export function registerCompanions(
  mcp: McpServer,
  { names, hasTickets }: PlainPolicies,
  owner: PlainOwner,
  call: (kind: CompanionKind, context: ServerContext) => Promise<CallToolResult>,
): void {
  if (!hasTickets) return;
  for (const kind of companionKinds) {
    // Nobody's tasks are listed to a caller of whom nothing is known.
    if (kind === "list" && scopeOf(owner) === undefined) continue;
    const { description, annotations } = definitions[kind];
    const inputSchema = fromJsonSchema(definitions[kind].inputSchema);
    try {
      mcp.registerTool(
        names[kind],
        { description: description(names), inputSchema, annotations },
        (_, context) => call(kind, context),
      );
    } catch (cause) {
      throw nameTaken(kind, names[kind], cause);
    }
  }
}
