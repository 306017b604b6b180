/**
 * The status text of a task (`statusMessage`): what it says of itself.
 * - A text belongs to progress (`update`), to an attempt (`retry`), or to the end (`settle`, `fail`, `expire`, `cancel`).
 * - With the end, all earlier texts are gone: `decide` stores the text of the end, or none.
 * - A failure, and a result with `isError`, always say why; a cancel says who or why; a plain result says it all by itself.
 * - The outcome decides its text before a store sees it, so that an encrypted store encrypts both.
 */

import type { Failure } from "./cause.ts";
import type { JsonRpcError, Outcome } from "./outcome.ts";
import type { TaskRecord } from "./record.ts";
import { cutText } from "./stored-text.ts";

/** How a task ends, and what it says from then on. */
export interface Ending {
  readonly outcome: Outcome;
  readonly statusMessage?: string;
  /** What is known of what a handler threw. */
  readonly failure?: Failure;
}

/** The end with this outcome (C-117, X-098). `attempt` is what an attempt's own text begins with. */
export function endingOf(outcome: Outcome, attempt = ""): Ending {
  if (outcome.kind === "result") return { outcome };
  const body: unknown = JSON.parse(outcome.body);
  const why = outcome.kind === "error" ? errorText(body as JsonRpcError) : toolErrorText(body);
  return { outcome, statusMessage: cutText(`${attempt}${why}`) };
}

/** The text of a JSON-RPC error, which may have an empty message. */
export function errorText({ code, message }: JsonRpcError): string {
  return message === "" ? `The request failed with code ${code}.` : message;
}

/** Tools report the reason in the first text of their result. */
function toolErrorText(result: unknown): string {
  const content: unknown = hasContent(result) ? result.content : undefined;
  const texts = (Array.isArray(content) ? (content as unknown[]) : []).filter(isText);
  return texts[0]?.text ?? "The tool reported an error.";
}

function hasContent(result: unknown): result is { readonly content: unknown } {
  return typeof result === "object" && result !== null && "content" in result;
}

function isText(block: unknown): block is { readonly text: string } {
  const text: unknown = typeof block === "object" && block !== null && "text" in block ? block.text : "";
  return typeof text === "string" && text !== "";
}

/** Whoever asked for the task has cancelled it, unless the cancel says something else. */
export const cancelledByCaller = "Cancelled by the caller.";

/** The beginning of the text of a failed attempt of so many; the reason follows. */
export function attemptFailed(attempt: number, attempts: number): string {
  return `Attempt ${attempt} of ${attempts} failed: `;
}

/** The text of an attempt that begins, which replaces the failure of the last one; undefined if clients see another text. */
export function attemptBegins(
  { failures, statusMessage }: Pick<TaskRecord, "failures" | "statusMessage">,
  attempts: number,
): string | undefined {
  if (statusMessage?.startsWith(attemptFailed(failures, attempts)) !== true) return undefined;
  return `Attempt ${failures + 1} of ${attempts}`;
}
