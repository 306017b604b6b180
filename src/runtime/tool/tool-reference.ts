import type { CallToolResult, StandardSchemaV1 } from "@modelcontextprotocol/server";

/**
 * A registered tool, for `task.call`: its name and, for TypeScript, its argument and result types. A handler that calls its own tool uses
 * the name, because TypeScript cannot infer the reference's type from itself.
 */
export interface ToolReference<in Args = never, out Structured = unknown> {
  readonly name: string;
  /** Never set: for types only. */
  readonly "~types"?: {
    readonly takes: (args: Args) => void;
    readonly returns: Structured;
  };
}

/** The arguments as a caller passes them, before the schema's defaults and transforms apply. */
export type ToolInput<Input> = Input extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Input>
  : Record<string, unknown>;

/** The structured content as a handler returns it. The schema checks it and does not change it. */
export type StructuredContent<Output> = Output extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Output>
  : unknown;

/** The result of a called tool. It has no `isError`, so a tool with an output schema always has structured content. */
export type ToolResult<Structured> = unknown extends Structured
  ? CallToolResult
  : CallToolResult & { readonly structuredContent: Structured };

/** A tool for a handler to call: what `tasks.tool` returned, or its name. */
export type CalledTool = ToolReference | string;

/** One of the calls of `task.all`. */
export interface ToolCall<Tool extends CalledTool = CalledTool> {
  readonly tool: Tool;
  /** The tool's arguments. */
  readonly arguments: CallArguments<Tool>;
}

/** The arguments of a call of the tool. */
export type CallArguments<Tool> =
  Tool extends ToolReference<infer Args> ? Args : Readonly<Record<string, unknown>>;

/** What a call of the tool resolves with. */
export type CallResult<Tool> =
  Tool extends ToolReference<never, infer Structured> ? ToolResult<Structured> : CallToolResult;

export interface AllOptions {
  /** How many calls run at the same time: 1 to 1,000, default 10. */
  readonly concurrency?: number;
}
