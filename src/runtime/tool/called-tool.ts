import type { CallToolResult } from "@modelcontextprotocol/server";
import { number, tableOf } from "../../options/options.ts";

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

/** The arguments of `task.call` after the tool: a tool that is called by its name may have none. */
export type CallRest<Tool> = Tool extends string
  ? [args?: Readonly<Record<string, unknown>>]
  : [args: CallArguments<Tool>];

/** What a call of the tool resolves with. */
export type CallResult<Tool> =
  Tool extends ToolReference<never, infer Structured> ? ToolResult<Structured> : CallToolResult;

class DeclaredAllOptions {
  /** How many calls run at the same time. Default 10. */
  readonly concurrency?: number = number({ min: 1, max: 1_000, default: 10 });
}

/** Options of `task.all`. */
export interface AllOptions extends DeclaredAllOptions {}

export const allOptions = tableOf<AllOptions>(DeclaredAllOptions);
