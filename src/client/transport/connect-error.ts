import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/client";
import { describeCause, ownErrorIn } from "./describe-cause.ts";
import { isHtml, messageInBody } from "../reply/error-body.ts";
import { TaskClientError } from "../task-client-error.ts";

/**
 * The error for a failure of the SDK to connect. The SDK's error code is the same for almost every cause.
 * `endedByServer`: the server closed the connection.
 */
export function connectError(cause: unknown, server: string, endedByServer = false): TaskClientError {
  const own = ownErrorIn(cause);
  if (own !== undefined) return own;
  const message = `Could not connect to ${server}: ${reasonOf(cause)}`;
  if (cause instanceof UnauthorizedError) return new TaskClientError("unauthorized", message, { cause });
  if (cause instanceof SdkHttpError) {
    const isDenial = cause.data.status === 401 || cause.data.status === 403;
    return new TaskClientError(isDenial ? "unauthorized" : "connection", message, { cause });
  }
  // Without a cause the connection worked, and the server answered something else.
  const spoke =
    cause instanceof SdkError &&
    cause.code === SdkErrorCode.EraNegotiationFailed &&
    cause.cause === undefined &&
    !endedByServer;
  const isProtocol = spoke || cause instanceof UnsupportedProtocolVersionError || isRefusal(cause);
  return new TaskClientError(isProtocol ? "protocol" : "connection", message, { cause });
}

/** The server answered the handshake of earlier revisions with an error or an unsupported version. */
function isRefusal(cause: unknown): boolean {
  if (cause instanceof ProtocolError) return true;
  if (cause instanceof SdkError && cause.code === SdkErrorCode.InvalidResult) return true;
  return cause instanceof Error && cause.message.startsWith("Server's protocol version is not supported");
}

/** The reason, without the SDK's prefixes and without the JSON of an answer. */
function reasonOf(cause: unknown): string {
  const answer = cause instanceof SdkHttpError ? httpAnswer(cause) : undefined;
  return answer ?? describeCause(cause).replace(/^Version negotiation (probe )?failed: /u, "");
}

/** For a redirect the SDK's own message is better. */
function httpAnswer({ data: { status, text } }: SdkHttpError): string | undefined {
  if (status >= 300 && status < 400) return undefined;
  const detail = messageInBody(text);
  const page = isHtml(text) ? " with a web page" : "";
  return `the server answered HTTP ${status}${detail === undefined ? page : `: ${detail}`}`;
}
