import { McpServer, type StandardSchemaV1, type StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { Tool } from "../../runtime/tool/tool.ts";
import { HoldfastError } from "../../task/fault.ts";

/** A tool as the SDK lists it. */
export type ListedTool = Pick<Tool, "title" | "description" | "annotations" | "icons" | "_meta"> & {
  readonly inputSchema?: StandardSchemaWithJSON;
  readonly outputSchema?: StandardSchemaWithJSON;
};
type JsonForm = StandardSchemaWithJSON["~standard"]["jsonSchema"];

/** Accepts everything: the SDK requires a schema, but no call reaches its check. */
export const unchecked: StandardSchemaV1<unknown, unknown> = {
  "~standard": { version: 1, vendor: "holdfast", validate: (value) => ({ value }) },
};

/** The forms in which our tools are listed, each made once. */
export class ToolForms {
  readonly #listed = new WeakMap<Tool, ListedTool>();
  readonly #declareHeaders = new WeakMap<Tool, boolean>();

  of(tool: Tool): ListedTool {
    const known = this.#listed.get(tool);
    if (known !== undefined) return known;
    const { title, description, annotations, icons, _meta, inputSchema, outputSchema } = tool;
    const listed = {
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(inputSchema !== undefined && { inputSchema: listedSchema(inputSchema) }),
      ...(outputSchema !== undefined && { outputSchema: listedSchema(outputSchema) }),
      ...(annotations !== undefined && { annotations }),
      ...(icons !== undefined && { icons }),
      ...(_meta !== undefined && { _meta }),
    };
    this.#listed.set(tool, listed);
    return listed;
  }

  /** Whether clients have to repeat arguments of the tool in headers over HTTP, which the SDK checks. */
  declareHeaders(tool: Tool): boolean {
    const known = this.#declareHeaders.get(tool);
    if (known !== undefined) return known;
    const mcp = new McpServer({ name: tool.name, version: "0" });
    mcp.registerTool(tool.name, this.of(tool), neverReached);
    const declares = JSON.stringify(mcp.toolInputSchemaJson(tool.name) ?? {}).includes('"x-mcp-header"');
    this.#declareHeaders.set(tool, declares);
    return declares;
  }
}

/** What a listed tool consists of that clients can see in one list or another: two that have the same are listed alike. */
export function shownOf(tool: Tool, enabled: boolean): readonly unknown[] {
  const { title, description, annotations, icons, _meta, inputSchema, outputSchema, task, plain } = tool;
  return [
    tool.name,
    enabled,
    title,
    description,
    annotations,
    icons,
    _meta,
    inputSchema,
    outputSchema,
    task,
    plain,
  ];
}

/** The handler that the SDK is given for what it is never to call. */
export function neverReached(): never {
  throw new HoldfastError("internal", "A request that Holdfast answers itself reached the author's server.");
}

/** The SDK validates nothing with it, since no call reaches a handler. */
export function schemaOf(jsonSchema: JsonForm): StandardSchemaWithJSON {
  return { "~standard": { ...unchecked["~standard"], jsonSchema } };
}

/** A schema that is converted to JSON Schema once: the SDK would convert it for each list. */
function listedSchema(schema: NonNullable<Tool["inputSchema"]>): StandardSchemaWithJSON {
  // The registry accepts a schema only if it has a JSON form or is an older zod schema, which the SDK converts.
  const listed = schema as StandardSchemaWithJSON;
  const { jsonSchema } = listed["~standard"] as Partial<StandardSchemaWithJSON["~standard"]>;
  if (jsonSchema === undefined) return listed;
  return schemaOf({
    input: once((options) => jsonSchema.input(options)),
    output: once((options) => jsonSchema.output(options)),
  });
}

/** Converts once per draft of JSON Schema. */
function once(convert: JsonForm["input"]): JsonForm["input"] {
  const converted = new Map<string, ReturnType<typeof convert>>();
  return (options) => {
    const known = converted.get(options.target);
    if (known !== undefined) return known;
    const json = convert(options);
    converted.set(options.target, json);
    return json;
  };
}
