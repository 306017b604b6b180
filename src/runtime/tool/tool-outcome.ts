import {
  type CallToolResult,
  isSpecType,
  ProtocolError,
  specTypeSchemas,
  type StandardSchemaV1,
} from "@modelcontextprotocol/server";
import { cutStack } from "../../task/attempts.ts";
import { type Failure, siteIn } from "../../task/cause.ts";
import { describeThrown, errorParts, jsonTextOf, thrownStack } from "./tool-errors.ts";
import {
  errorOutcome,
  errorResult,
  type JsonRpcError,
  kindOfResult,
  type Outcome,
  type OutcomeKind,
} from "../../task/outcome.ts";
import type { TaskContext } from "./task-context.ts";
import type { Tool } from "./tool.ts";
import {
  HoldfastError,
  isFault,
  isStoreFault,
  isStoreRefusal,
  jsonRpcCodeOf,
  storeRefused,
  storeUnavailable,
  tooLarge,
} from "../../task/fault.ts";
import { encodeJson, TextRoom } from "../../task/stored-text.ts";
import { enterHandler } from "../watchdog/running-code.ts";
import { describeIssues, isFields } from "./schema.ts";

/** What is stored of a value that a handler threw, so that operators see where, and which failures have the same cause. */

export function stackOf(end: HandlerEnd): { stack?: string } {
  const stack = end.threw ? thrownStack(end.error) : undefined;
  return stack === undefined ? {} : { stack: cutStack(stack) };
}

/** `step`: the key of the step that rejected with it, if one did. Never throws. */
export function failureOf(thrown: unknown, step: string | undefined): Failure {
  const site = step === undefined ? siteIn(thrownStack(thrown)) : undefined;
  return { ...namesOf(thrown), ...(step !== undefined && { step }), ...(site !== undefined && { site }) };
}

function namesOf(thrown: unknown): Pick<Failure, "name" | "code"> {
  try {
    if (!(thrown instanceof Error)) return {};
    const { name, code } = errorParts(thrown);
    return { name, ...(code !== undefined && { code }) };
  } catch {
    return {}; // its traps are the author's
  }
}

/**
 * From what a handler returned or threw to the outcome of its task. A result that breaks the output schema, is not JSON or is too large
 * becomes an error; the handler's own result is stored unchanged.
 */

/** How a run of a handler ended. `threw` distinguishes a throw from a result with `isError` that the handler returned. */
export type HandlerEnd =
  | {
      readonly outcome: Outcome;
      readonly threw: false;
      /** Why the arguments were refused, before the handler began. */
      readonly refused?: string;
    }
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
    if (!validated.ok) return { outcome: validated.outcome, threw: false, refused: validated.issues };
    const context = await contextFor(validated.args);
    hasBegun = true;
    // The registry paired this handler with the schema that has just accepted the arguments.
    const handler = tool.handler as (args: unknown, task: TaskContext) => unknown;
    const returned = await enterHandler(tool.name, context.id, () => handler(validated.args, context));
    return { outcome: await outcomeOfReturn(tool, returned, maxBytes, context), threw: false };
  } catch (error) {
    const end = threwEnd(error, maxBytes);
    return hasBegun ? end : { ...end, early: true };
  }
}

/** Validates arguments as the SDK does before it calls a tool; `outcome` is the result that the SDK would report. */
export async function validateArguments(
  tool: Pick<Tool, "name" | "inputSchema">,
  raw: unknown,
): Promise<{ ok: true; args: unknown } | { ok: false; problem: string; issues: string; outcome: Outcome }> {
  if (tool.inputSchema === undefined) return { ok: true, args: raw ?? {} };
  const validated = await tool.inputSchema["~standard"].validate(raw ?? {});
  if (validated.issues === undefined) return { ok: true, args: validated.value };
  const issues = describeIssues(validated.issues);
  const problem = `Input validation error: Invalid arguments for tool ${tool.name}: ${issues}`;
  return { ok: false, problem, issues, outcome: errorResult(problem) };
}

/** The outcome of a handler that returned: its result, checked against the tool's output schema and size limit. */
async function outcomeOfReturn(
  tool: Tool,
  returned: unknown,
  maxBytes: number,
  task: TaskContext,
): Promise<Outcome> {
  if (tool.raw === true)
    return sized(tool, "result", encodeJson(returned, `The result of ${tool.name}`, maxBytes), maxBytes);
  const result = resultOf(tool, returned);
  const problem = await outputProblem(tool, result);
  if (problem !== undefined) return errorResult(`Output validation error: ${problem}`);
  const most = tool.largeResults === "link" ? Infinity : maxBytes;
  const body = encodeJson(withTextFallback(result), `The result of tool ${tool.name}`, most);
  if (tool.largeResults === "link" && Buffer.byteLength(body) > maxBytes) {
    const linked = await linkedResult(result, body, task);
    if (linked !== undefined) return { kind: kindOfResult(result), body: JSON.stringify(linked) };
  }
  return sized(tool, kindOfResult(result), body, maxBytes);
}

function sized({ name }: Tool, kind: OutcomeKind, body: string, maxBytes: number): Outcome {
  if (Buffer.byteLength(body) <= maxBytes) return { kind, body };
  throw tooLarge(`The result of tool ${name}`, maxBytes);
}

/** The result as a link to an artifact that has it, or has its text alone; undefined for a run that has no artifacts. */
async function linkedResult(
  result: CallToolResult,
  body: string,
  task: TaskContext,
): Promise<CallToolResult | undefined> {
  const { content, isError, ...others } = result;
  const [only] = content;
  const isText = content.length === 1 && only?.type === "text" && Object.keys(others).length === 0;
  const [data, type, mimeType] = isText
    ? [only.text, "txt", "text/plain"]
    : [body, "json", "application/json"];
  for (let number = 1; ; number++) {
    const name = number === 1 ? `result.${type}` : `result-${number}.${type}`;
    try {
      const link = await task.artifact(name, data, { mimeType });
      const text = `The result has ${link.size} bytes, too many for an answer. It is stored as ${name}: read the resource ${link.uri}, in parts if it is large.`;
      return { content: [{ type: "text", text }, link], ...(isError !== undefined && { isError }) };
    } catch (error) {
      const code = error instanceof HoldfastError ? error.code : undefined;
      if (code === "invalid_request") return undefined;
      if (code !== "duplicate_key") throw error; // the handler has something of this name
    }
  }
}

/**
 * The outcome of a handler that threw. A protocol error is the JSON-RPC error of the call. Any other error is a result with
 * `isError`, as a plain SDK tool reports it. A fault of ours is an internal error, except for a step that timed out and a question that the
 * client failed to answer, which are the tool's own failures. Never throws.
 */
export function outcomeOfThrow(thrown: unknown, maxBytes: number): Outcome {
  const room = new TextRoom("The error", maxBytes);
  try {
    const outcome = thrownOutcome(thrown, room);
    if (Buffer.byteLength(outcome.body) <= maxBytes) return outcome;
  } catch (error) {
    if (!room.refuses(error)) return errorResult("The tool threw a value that cannot be read.");
  }
  return errorOutcome({
    code: -32603,
    message: `The tool failed with an error of more than ${maxBytes} bytes.`,
  });
}

function thrownOutcome(thrown: unknown, room: TextRoom): Outcome {
  const message = messageOf(thrown);
  room.take(message);
  if (isFault(thrown))
    return errorOutcome(jsonRpcError(jsonRpcCodeOf(thrown.code), message, thrown.data, room));
  if (ProtocolError.isInstance(thrown))
    return errorOutcome(jsonRpcError(thrown.code, message, thrown.data, room));
  return errorResult(message);
}

function messageOf(thrown: unknown): string {
  if (isStoreFault(thrown)) return storeUnavailable;
  return isStoreRefusal(thrown) ? storeRefused : describeThrown(thrown);
}

/**
 * The tool result of what a handler returned: that itself, or a result with it as its structured content, if the tool has an output schema,
 * or as its text. Throws `not_json` for what is neither a result nor plain data: it is a mistake, and no empty success.
 */
function resultOf(tool: Tool, returned: unknown): CallToolResult {
  if (isToolResult(tool, returned)) {
    const fault = resultFault(returned);
    if (fault === undefined) return returned;
    throw noResult(tool, `returned a result that clients cannot read (${fault})`);
  }
  const hasSchema = tool.outputSchema !== undefined;
  if (returned === undefined || (returned === null && !hasSchema)) {
    throw noResult(tool, `returned ${returned === null ? "null" : "nothing"}`);
  }
  if (returned instanceof Error) {
    throw noResult(tool, `returned an error instead of throwing it (${describeThrown(returned)})`);
  }
  if (!hasSchema && hasContent(returned)) throw noResult(tool, "returned content that is no array");
  const json = encodeJson(returned, `What tool ${tool.name} returned`);
  const text = typeof returned === "string" ? returned : json;
  return { content: [{ type: "text", text }], ...(hasSchema && { structuredContent: returned }) };
}

function noResult({ name }: Tool, what: string): HoldfastError {
  const instead = "Return a tool result, which is an object with a content array, or a text or plain data.";
  return new HoldfastError("not_json", `Tool ${name} ${what}. ${instead}`);
}

/** Content that is none, in what a tool with an output schema returned, is part of its structured content. */
function isToolResult({ outputSchema }: Tool, returned: unknown): returned is CallToolResult {
  if (typeof returned !== "object" || returned === null || Array.isArray(returned)) return false;
  if ("structuredContent" in returned || "isError" in returned || "_meta" in returned) {
    return !hasContent(returned) || Array.isArray(returned.content);
  }
  if (!hasContent(returned) || !Array.isArray(returned.content)) return false;
  return outputSchema === undefined || returned.content.every((block) => isSpecType.ContentBlock(block));
}

function hasContent(returned: unknown): returned is { readonly content: unknown } {
  return (
    typeof returned === "object" &&
    returned !== null &&
    "content" in returned &&
    returned.content !== undefined
  );
}

function resultFault({ content, isError, _meta }: Partial<CallToolResult>): string | undefined {
  if (_meta !== undefined && !isFields(_meta)) return "_meta is no object";
  if (isError !== undefined && typeof isError !== "boolean") return "isError is neither true nor false";
  for (const [place, block] of (content ?? []).entries()) {
    const fault = blockFault(block);
    if (fault !== undefined) return `content[${place}]: ${fault}`;
  }
  return undefined;
}

const blockSchemas: Readonly<Record<string, StandardSchemaV1>> = {
  text: specTypeSchemas.TextContent,
  image: specTypeSchemas.ImageContent,
  audio: specTypeSchemas.AudioContent,
  resource: specTypeSchemas.EmbeddedResource,
  resource_link: specTypeSchemas.ResourceLink,
};

/** Why clients cannot read a block of content. A kind that is not known may be of a later protocol, and is passed on. */
export function blockFault(block: unknown): string | undefined {
  if (typeof block !== "object" || block === null) return "is no object";
  if (!("type" in block) || typeof block.type !== "string") return "has no type";
  const schema = Object.hasOwn(blockSchemas, block.type) ? blockSchemas[block.type] : undefined;
  const checked = schema?.["~standard"].validate(block);
  if (checked === undefined || checked instanceof Promise || checked.issues === undefined) return undefined;
  return describeIssues(checked.issues);
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

function jsonRpcError(code: number, message: string, data: unknown, room: TextRoom): JsonRpcError {
  const text = data === undefined ? undefined : jsonTextOf(data, room);
  const whole = Number.isSafeInteger(code) ? code : -32603; // JSON-RPC has no other codes
  return text === undefined
    ? { code: whole, message }
    : { code: whole, message, data: JSON.parse(text) as unknown };
}
