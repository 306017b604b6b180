/** Options of tools that another server or service has, and parts of JSON Schemas for the options that a file can give. */

import { type Table, tableOf } from "../options/options.ts";
import { toolOptions } from "../runtime/tool/tool-options.ts";

/** The options that a class declares, and those of `tasks.tool` that are passed on. */
export function servedOptions(declared: new () => object, passedOn: readonly string[]): Table<object> {
  const ofTool = [...toolOptions.rows].filter(([name]) => passedOn.includes(name));
  return { rows: new Map([...tableOf(declared).rows, ...ofTool]) };
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export const textSchema = (description: string): JsonSchema => ({
  type: "string",
  minLength: 1,
  description,
});
export const flagSchema = (description: string): JsonSchema => ({ type: "boolean", description });

export const timeSchema = (description: string): JsonSchema => ({
  anyOf: [
    { type: "number", minimum: 0 },
    { type: "string", pattern: "^\\d+(\\.\\d+)?(ms|[smhdw])$" },
  ],
  description: `${description} In milliseconds, or such as "90s", "15m" or "3d".`,
});

export const textsSchema = (description: string): JsonSchema => ({
  type: "array",
  items: { type: "string" },
  description,
});

export const textsByNameSchema = (description: string): JsonSchema => ({
  type: "object",
  additionalProperties: { type: "string" },
  description,
});

export const closedSchema = (properties: JsonSchema, required: readonly string[] = []): JsonSchema => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
});

const limit: JsonSchema = {
  anyOf: [
    { type: "string", minLength: 1 },
    { type: "array", minItems: 1, items: { type: ["string", "number"] } },
  ],
  description: "A limit of limits, or such a limit and a key.",
};

/** What each tool of another server or service can have, besides what it says itself. */
export const servedToolSchemas: JsonSchema = {
  name: textSchema("Its name for clients."),
  title: textSchema("Its title for people."),
  description: textSchema("What it does, and when to use it, for the model."),
  approval: closedSchema(
    {
      by: { enum: ["user", "operator"], description: "Who has to agree before each call." },
      message: textSchema("The question, with placeholders for the arguments."),
      timeoutMs: timeSchema("How long to wait. Then the call fails."),
      link: closedSchema(
        {
          notify: textSchema("Where a link is sent by which whoever gets it decides."),
          headers: textsByNameSchema("Headers of that request."),
          allow: textsSchema("Hosts and ranges outside the public internet that may be reached."),
          timeoutMs: timeSchema("How long the link is good. Default one day."),
        },
        ["notify"],
      ),
    },
    ["by"],
  ),
  durable: flagSchema("false: calls are passed through while the caller waits, and nothing is stored."),
  concurrency: {
    type: "integer",
    minimum: 1,
    description: "How many of its calls run at the same time, over all processes.",
  },
  limit,
  priority: { type: "integer", description: "Calls of a tool with a higher number start first. Default 0." },
  plain: { enum: ["wait", "ticket"], description: "How clients without tasks are answered." },
  plainDeadlineMs: timeSchema("How long a client without tasks waits before it gets a ticket."),
  ttlMs: {
    anyOf: [timeSchema("The life of a task."), { type: "null" }],
    description: "The life of a task, its result included.",
  },
  maxRunMs: timeSchema("How long a call may take in all."),
  inputTimeoutMs: {
    anyOf: [timeSchema("How long a question waits."), { type: "null" }],
    description: "How long a question waits for its answer.",
  },
};
