import { cutText } from "../../task/stored-text.ts";
import { HoldfastError, isFault } from "../../task/fault.ts";
import type { TaskRecord } from "../../task/record.ts";
import { ProtocolError } from "@modelcontextprotocol/server";
import { retryPause } from "../backoff.ts";
import { deadlineAfter } from "../duration.ts";
import type { Services } from "../services.ts";
import { describeThrown, isNonRetryable } from "../tool/tool-errors.ts";
import { type RetryPolicy, ruleAllows, type Tool } from "../tool/tool.ts";

/** A further attempt of a task whose handler threw. */
export interface HandlerRetry {
  /** When it runs again (epoch ms). */
  readonly until: number;
  /** The status text until then. */
  readonly statusMessage: string;
}

/** When to run a task again whose handler threw `error`; undefined if its tool or the error forbids it. */
export function handlerRetry(
  { failures }: Pick<TaskRecord, "failures">,
  { retry }: Pick<Tool, "retry">,
  error: unknown,
  { clock, onError }: Pick<Services, "clock" | "onError">,
): HandlerRetry | undefined {
  const attempt = failures + 1;
  if (retry === undefined || attempt >= retry.attempts || isFinal(error)) return undefined;
  if (retry.on !== undefined && !ruleAllows(retry.on, error, onError)) return undefined;
  return {
    until: deadlineAfter(clock.now(), retryPause(attempt, clock, retry.backoff)),
    statusMessage: cutText(`${failedText(attempt, retry)}${describeThrown(error)}`),
  };
}

/** The status text of an attempt that begins, which replaces the failure of the last one; undefined if clients see another text. */
export function attemptText(
  { failures, statusMessage }: Pick<TaskRecord, "failures" | "statusMessage">,
  { retry }: Pick<Tool, "retry">,
): string | undefined {
  if (retry === undefined || statusMessage?.startsWith(failedText(failures, retry)) !== true)
    return undefined;
  return `Attempt ${failures + 1} of ${retry.attempts}`;
}

function failedText(attempt: number, { attempts }: RetryPolicy): string {
  return `Attempt ${attempt} of ${attempts} failed: `;
}

/**
 * Whether the error ends the task, whatever its tool allows: it says so itself, or it is an answer, a mistake, or the end of a wait, which
 * the next attempt would get again.
 */
function isFinal(error: unknown): boolean {
  try {
    return isNonRetryable(error) || isFault(error) || isEndOfWait(error) || ProtocolError.isInstance(error);
  } catch {
    return false;
  }
}

/** A failed question or wait for an event stays in the journal. */
function isEndOfWait(error: unknown): boolean {
  return error instanceof HoldfastError && (error.code === "input_failed" || error.code === "event_timeout");
}
