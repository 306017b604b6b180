/**
 * From what a handler returned or threw to the outcome of its task. A result that breaks the output schema, is not JSON or is too large
 * becomes an error; the handler's own result is stored unchanged.
 */

import { type CallToolResult, ProtocolError } from "@modelcontextprotocol/server";
import {
  type Outcome,
  errorOutcome,
  kindOfResult,
  errorResult,
  type JsonRpcError,
  type OutcomeKind,
} from "../../task/outcome.ts";
import type { TaskContext } from "./task-context.ts";
import type { Tool } from "./tool.ts";
import { HoldfastError, isFault, isStoreFault, jsonRpcCodeOf, storeUnavailable } from "../../task/fault.ts";
import { encodeJson } from "../../task/stored-text.ts";
import { describeIssues } from "../describe-issues.ts";
import { describeThrown, jsonTextOf } from "./tool-errors.ts";

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

/** Validates arguments as the SDK does before it calls a tool; `outcome` is the result that the SDK would report. */
export async function validateArguments(
  tool: Pick<Tool, "name" | "inputSchema">,
  raw: unknown,
): Promise<{ ok: true; args: unknown } | { ok: false; problem: string; outcome: Outcome }> {
  if (tool.inputSchema === undefined) return { ok: true, args: raw ?? {} };
  const validated = await tool.inputSchema["~standard"].validate(raw ?? {});
  if (validated.issues === undefined) return { ok: true, args: validated.value };
  const issues = describeIssues(validated.issues);
  const problem = `Input validation error: Invalid arguments for tool ${tool.name}: ${issues}`;
  return { ok: false, problem, outcome: errorResult(problem) };
}

/** The outcome of a handler that returned: its result, checked against the tool's output schema and size limit. */
async function outcomeOfReturn(tool: Tool, returned: CallToolResult, maxBytes: number): Promise<Outcome> {
  if (tool.raw === true)
    return sized(tool, "result", encodeJson(returned, `The result of ${tool.name}`), maxBytes);
  if (!isToolResult(returned)) {
    throw new HoldfastError(
      "not_json",
      `Tool ${tool.name} did not return a tool result: an object with a content array.`,
    );
  }
  const problem = await outputProblem(tool, returned);
  if (problem !== undefined) return errorResult(`Output validation error: ${problem}`);
  const body = encodeJson(withTextFallback(returned), `The result of tool ${tool.name}`);
  return sized(tool, kindOfResult(returned), body, maxBytes);
}

function sized({ name }: Tool, kind: OutcomeKind, body: string, maxBytes: number): Outcome {
  if (Buffer.byteLength(body) <= maxBytes) return { kind, body };
  throw new HoldfastError("too_large", `The result of tool ${name} is larger than ${maxBytes} bytes.`);
}

/**
 * The outcome of a handler that threw. A protocol error is the JSON-RPC error of the call. Any other error is a result with
 * `isError`, as a plain SDK tool reports it. A fault of ours is an internal error, except for a step that timed out and a question that the
 * client failed to answer, which are the tool's own failures. Never throws.
 */
export function outcomeOfThrow(thrown: unknown, maxBytes: number): Outcome {
  let outcome: Outcome;
  try {
    outcome = thrownOutcome(thrown);
  } catch {
    outcome = errorResult("The tool threw a value that cannot be read.");
  }
  if (Buffer.byteLength(outcome.body) <= maxBytes) return outcome;
  return errorOutcome({
    code: -32603,
    message: `The tool failed with an error of more than ${maxBytes} bytes.`,
  });
}

function thrownOutcome(thrown: unknown): Outcome {
  const message = isStoreFault(thrown) ? storeUnavailable : describeThrown(thrown);
  if (isFault(thrown)) {
    return errorOutcome(jsonRpcError(jsonRpcCodeOf(thrown.code), message, thrown.data));
  }
  if (ProtocolError.isInstance(thrown)) return errorOutcome(jsonRpcError(thrown.code, message, thrown.data));
  return errorResult(message);
}

/** Handlers in JavaScript may return anything. */
function isToolResult(returned: unknown): boolean {
  if (typeof returned !== "object" || returned === null || Array.isArray(returned)) return false;
  const content: unknown = "content" in returned ? returned.content : undefined;
  return content === undefined || Array.isArray(content);
}

async function outputProblem(tool: Tool, result: CallToolResult): Promise<string | undefined> {
  if (tool.outputSchema === undefined || result.isError === true) return undefined;
  if (result.structuredContent === undefined) {
    return `Tool ${tool.name} has an output schema but no structured content was provided`;
  }
  const validated = await tool.outputSchema["~standard"].validate(result.structuredContent);
  if (validated.issues === undefined) return undefined;
  return `Invalid structured content for tool ${tool.name}: ${describeIssues(validated.issues)}`;
}

/** Structured content that is no object also gets a text, for clients that read only text, as the SDK does. */
function withTextFallback(result: CallToolResult): CallToolResult {
  const structured: unknown = result.structuredContent;
  const content = result.content ?? [];
  const isObject = typeof structured === "object" && structured !== null && !Array.isArray(structured);
  if (structured === undefined || isObject || content.some((block) => block.type === "text")) {
    return { ...result, content };
  }
  return { ...result, content: [...content, { type: "text", text: JSON.stringify(structured) }] };
}

function jsonRpcError(code: number, message: string, data: unknown): JsonRpcError {
  const text = data === undefined ? undefined : jsonTextOf(data);
  const whole = Number.isSafeInteger(code) ? code : -32603; // JSON-RPC has no other codes
  return text === undefined
    ? { code: whole, message }
    : { code: whole, message, data: JSON.parse(text) as unknown };
}
