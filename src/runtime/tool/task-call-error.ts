import type { CallToolResult } from "@modelcontextprotocol/server";
import type { CallFailure } from "../../task/call-failure.ts";
import { cutText } from "../../task/cut-text.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { jsonTextOf } from "./describe-thrown.ts";

/** In code points: of what a tool said, which may be what another one said that it called in its turn. */
const longest = 1_000;

const reasons = ["failed", "cancelled", "expired"] as const;

/** How a call of a tool ended that did not succeed. */
export type TaskCallFailure = (typeof reasons)[number];

interface Details {
  readonly result?: CallToolResult | undefined;
  readonly error?: JsonRpcError | undefined;
}

/**
 * What `task.call` rejects with where the tool that was called did not succeed, on a replay too. Uncaught, it makes the
 * calling tool's result one with `isError`, whose text is the message: it names the tool and says what that would have told its own caller.
 *
 * ```ts
 * try {
 *   await task.call("scan", scan, { url });
 * } catch (error) {
 *   if (!(error instanceof TaskCallError) || error.reason !== "expired") throw error;
 *   await task.status("The scan took too long, and is left out.");
 * }
 * ```
 */
export class TaskCallError extends Error {
  override readonly name = "TaskCallError";
  /** The name of the tool that was called. */
  readonly tool: string;
  /** `expired`: its task came to the end of its life. `cancelled`: it was cancelled by itself; where the calling task is, calls reject as all else does. */
  readonly reason: TaskCallFailure;
  /** What it returned, with `isError`, or what stands for what its handler threw. */
  readonly result: CallToolResult | undefined;
  /** The JSON-RPC error that answered the call in place of a result. */
  readonly error: JsonRpcError | undefined;

  constructor(tool: string, reason: TaskCallFailure, message: string, details: Details & ErrorOptions = {}) {
    super(message, details);
    this.tool = tool;
    this.reason = reason;
    this.result = details.result;
    this.error = details.error;
  }
}

/** What a call rejects with that ended so. */
export function callErrorOf(tool: string, failure: CallFailure): TaskCallError {
  const { reason } = failure;
  if (reason === "cancelled")
    return new TaskCallError(tool, reason, `The call of tool "${tool}" was cancelled.`);
  if ("error" in failure) {
    const { error } = failure;
    const said = reason === "expired" ? "did not end in time" : "failed";
    return new TaskCallError(tool, reason, `Tool "${tool}" ${said}: ${cutText(error.message, longest)}`, {
      error,
    });
  }
  const result = failure.result as CallToolResult; // as its outcome was stored
  const text = cutText(textOf(result), longest);
  return new TaskCallError(tool, reason, `Tool "${tool}" failed${text === "" ? "." : `: ${text}`}`, {
    result,
  });
}

/** What the journal keeps of such an error beside its message: without the details where these are too large. */
export function callErrorData({ tool, reason, result, error }: TaskCallError, maxBytes: number): unknown {
  const text = jsonTextOf({ tool, reason, result, error });
  const fits = text !== undefined && Buffer.byteLength(text) <= maxBytes;
  return fits ? (JSON.parse(text) as unknown) : { tool, reason };
}

/** The error again; undefined for data of another error that has this one's name. */
export function readCallError(
  message: string,
  data: unknown,
  options?: ErrorOptions,
): TaskCallError | undefined {
  const { tool, reason: given, result, error } = (data ?? {}) as Readonly<Record<string, unknown>>;
  const reason = reasons.find((candidate) => candidate === given);
  if (typeof tool !== "string" || reason === undefined) return undefined;
  return new TaskCallError(tool, reason, message, {
    ...options,
    result: result as CallToolResult | undefined,
    error: error as JsonRpcError | undefined,
  });
}

function textOf({ content }: CallToolResult): string {
  const texts = (content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.join(" ").trim();
}
