import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ToolReference, ToolResult } from "./tool-reference.ts";

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
