import type { CallToolResult } from "@modelcontextprotocol/server";
import type { CallFailure } from "../../task/call-failure.ts";
import { cutText } from "../../task/cut-text.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { jsonTextOf } from "./describe-thrown.ts";

/** In code points: the maximum for a text from a tool, which may itself quote a tool that it called. */
const longest = 1_000;

const reasons = ["failed", "cancelled", "expired"] as const;

/** How a call of a tool failed. */
export type TaskCallFailure = (typeof reasons)[number];

interface Details {
  readonly result?: CallToolResult | undefined;
  readonly error?: JsonRpcError | undefined;
}

/**
 * `task.call` rejects with it if the called tool did not succeed, on a replay too. Uncaught, it gives the calling tool a result with
 * `isError` whose text is the message: the name of the called tool, and what its own caller would have been told.
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
  /** The name of the called tool. */
  readonly tool: string;
  /**
   * `expired`: its task reached the end of its life. `cancelled`: only its task was cancelled; if the calling task is cancelled, calls
   * reject like everything else.
   */
  readonly reason: TaskCallFailure;
  /** The result with `isError` that it returned, or that stands for what its handler threw. */
  readonly result: CallToolResult | undefined;
  /** The JSON-RPC error that answered the call instead of a result. */
  readonly error: JsonRpcError | undefined;

  constructor(tool: string, reason: TaskCallFailure, message: string, details: Details & ErrorOptions = {}) {
    super(message, details);
    this.tool = tool;
    this.reason = reason;
    this.result = details.result;
    this.error = details.error;
  }
}

/** The error that a failed call rejects with. */
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

/** What the journal stores of such an error besides its message; details that are too large are left out. */
export function callErrorData({ tool, reason, result, error }: TaskCallError, maxBytes: number): unknown {
  const text = jsonTextOf({ tool, reason, result, error });
  const fits = text !== undefined && Buffer.byteLength(text) <= maxBytes;
  return fits ? (JSON.parse(text) as unknown) : { tool, reason };
}

/** Restores the error; undefined for data of another error with the same name. */
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
