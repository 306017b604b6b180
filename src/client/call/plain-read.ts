import { ProtocolError, SdkError, SdkErrorCode, type RequestOptions } from "@modelcontextprotocol/client";
import { replyError } from "../reply/reply-error.ts";
import { TaskClientError } from "../task-client-error.ts";
import { sendFailure } from "../transport/send-failure.ts";

/** The longest that a timer takes; what ends a read in time is its signal. */
const noTimeoutMs = 2 ** 31 - 1;

/** A read through the SDK, which ends as everything here does. */
export async function plainRead<Result>(
  read: (options: RequestOptions) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  try {
    return await read({ signal, timeout: noTimeoutMs });
  } catch (cause) {
    signal.throwIfAborted();
    throw plainError(cause);
  }
}

function plainError(cause: unknown): TaskClientError {
  if (cause instanceof ProtocolError) {
    const { code, message, data } = cause;
    return replyError({ kind: "error", error: { code, message, ...(data !== undefined && { data }) } });
  }
  if (cause instanceof SdkError && cause.code === SdkErrorCode.InvalidResult)
    return new TaskClientError("protocol", cause.message, { cause });
  return replyError(sendFailure(cause));
}
