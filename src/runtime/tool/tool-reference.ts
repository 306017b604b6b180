import type { CallToolResult, StandardSchemaV1 } from "@modelcontextprotocol/server";

/**
 * A registered tool, for `task.call`: its name, and for TypeScript what it takes and returns. A tool whose handler calls its own
 * tool names that, as its reference does not exist yet where its type is found.
 */
export interface ToolReference<in Args = never, out Structured = unknown> {
  readonly name: string;
  /** Never there: for types alone. */
  readonly "~types"?: {
    readonly takes: (args: Args) => void;
    readonly returns: Structured;
  };
}

/** The arguments as a caller passes them: the schema's defaults and transforms are still to be applied. */
export type ToolInput<Input> = Input extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Input>
  : Record<string, unknown>;

/** The structured content as a handler returns it: the schema is what it is checked against, and changes nothing of it. */
export type StructuredContent<Output> = Output extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Output>
  : unknown;

/** What a tool that was called returned: no result with `isError`, so that one with an output schema has its structured content. */
export type ToolResult<Structured> = unknown extends Structured
  ? CallToolResult
  : CallToolResult & { readonly structuredContent: Structured };
