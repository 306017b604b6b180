import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Outcome } from "../../task/outcome.ts";
import type { TaskContext } from "./task-context.ts";
import { outcomeOfReturn, outcomeOfThrow, validateArguments } from "./tool-outcome.ts";
import type { Tool } from "./tool.ts";

/** How a run of a handler ended. `threw` distinguishes a throw from a result with `isError` that the handler returned. */
export type HandlerEnd =
  | { readonly outcome: Outcome; readonly threw: false }
  | {
      readonly outcome: Outcome;
      readonly threw: true;
      readonly error: unknown;
      /** `prepare` threw, which is no attempt of the handler. */
      readonly early?: true;
    };

/** The end of a run that threw `error`. Never throws. */
export function threwEnd(error: unknown, maxBytes: number): HandlerEnd & { readonly threw: true } {
  return { outcome: outcomeOfThrow(error, maxBytes), threw: true, error };
}

/** Runs a tool's handler to its end, with a context for the validated arguments; never rejects. */
export async function runToEnd(
  tool: Tool,
  rawArguments: unknown,
  contextFor: (args: unknown) => TaskContext | Promise<TaskContext>,
  maxBytes: number,
): Promise<HandlerEnd> {
  let hasBegun = false;
  try {
    const validated = await validateArguments(tool, rawArguments);
    if (!validated.ok) return { outcome: validated.outcome, threw: false };
    const context = await contextFor(validated.args);
    hasBegun = true;
    // The registry paired this handler with the schema that has just accepted the arguments.
    const handler = tool.handler as (
      args: unknown,
      task: TaskContext,
    ) => CallToolResult | Promise<CallToolResult>;
    const returned = await handler(validated.args, context);
    return { outcome: await outcomeOfReturn(tool, returned, maxBytes), threw: false };
  } catch (error) {
    const end = threwEnd(error, maxBytes);
    return hasBegun ? end : { ...end, early: true };
  }
}
