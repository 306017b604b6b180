import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/client";
import { describeCause } from "./describe-cause.ts";
import { isHtml, saidInBody } from "../reply/said-in-body.ts";
import { TaskClientError } from "../task-client-error.ts";

/**
 * What a failure of the SDK to connect means. Not to be told by its code: it has one for all that can go wrong.
 * `endedThere` says that the other side ended the connection meanwhile.
 */
export function connectError(cause: unknown, server: string, endedThere = false): TaskClientError {
  if (cause instanceof TaskClientError) return cause;
  const message = `Could not connect to ${server}: ${reasonOf(cause)}`;
  if (cause instanceof UnauthorizedError) return new TaskClientError("unauthorized", message, { cause });
  if (cause instanceof SdkHttpError) {
    const isDenial = cause.data.status === 401 || cause.data.status === 403;
    return new TaskClientError(isDenial ? "unauthorized" : "connection", message, { cause });
  }
  // Without a cause nothing went wrong on the way: the server is there, and answered something else.
  const spoke =
    cause instanceof SdkError &&
    cause.code === SdkErrorCode.EraNegotiationFailed &&
    cause.cause === undefined &&
    !endedThere;
  const isProtocol = spoke || cause instanceof UnsupportedProtocolVersionError || isRefusal(cause);
  return new TaskClientError(isProtocol ? "protocol" : "connection", message, { cause });
}

/** The handshake of earlier revisions was answered, by an error or with a version that nobody here speaks. */
function isRefusal(cause: unknown): boolean {
  if (cause instanceof ProtocolError) return true;
  if (cause instanceof SdkError && cause.code === SdkErrorCode.InvalidResult) return true;
  return cause instanceof Error && cause.message.startsWith("Server's protocol version is not supported");
}

/** What went wrong, without the SDK's words for its first request and without the JSON of an answer. */
function reasonOf(cause: unknown): string {
  const answer = cause instanceof SdkHttpError ? httpAnswer(cause) : undefined;
  return answer ?? describeCause(cause).replace(/^Version negotiation (probe )?failed: /u, "");
}

/** A redirect that was not followed is told by the SDK. */
function httpAnswer({ data: { status, text } }: SdkHttpError): string | undefined {
  if (status >= 300 && status < 400) return undefined;
  const said = saidInBody(text);
  const page = isHtml(text) ? " with a web page" : "";
  return `the server answered HTTP ${status}${said === undefined ? page : `: ${said}`}`;
}
