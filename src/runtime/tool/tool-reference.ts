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

/** A tool that a handler calls: by what `tasks.tool` returned, or by its name. */
export type CalledTool = ToolReference | string;

/** One of the calls of `task.all`. */
export interface ToolCall<Tool extends CalledTool = CalledTool> {
  readonly tool: Tool;
  /** Those that the tool takes. */
  readonly arguments: CallArguments<Tool>;
}

/** What a call of the tool passes to it. */
export type CallArguments<Tool> =
  Tool extends ToolReference<infer Args> ? Args : Readonly<Record<string, unknown>>;

/** What a call of the tool resolves with. */
export type CallResult<Tool> =
  Tool extends ToolReference<never, infer Structured> ? ToolResult<Structured> : CallToolResult;

export interface AllOptions {
  /** How many of the calls are under way at the same time: 1 to 1,000, default 10. */
  readonly concurrency?: number;
}
