import {
  InsufficientScopeError,
  type JSONRPCRequest,
  type ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { describeCause, ownErrorIn, type TaskClientError } from "../task-client-error.ts";
import {
  type BadReply,
  errorInBody,
  type ErrorReply,
  type LostReply,
  messageInBody,
  type Reply,
} from "../reply/reply.ts";
import { retryAfterIn } from "../reply/retry.ts";
import type { JsonRpcError } from "../../task/outcome.ts";
import { begunDespite } from "../../task/unanswered.ts";
import { isLost, isMalformed, NotAMessage } from "./wire-messages.ts";
import { isJsonObject } from "../../generation/message.ts";

type Failure = LostReply | BadReply | ErrorReply;

/** The server's error, as it was sent. */
export function rpcErrorOf({ code, message, data }: ProtocolError): JsonRpcError {
  return { code, message, ...(data !== undefined && { data }) };
}

/** The reply for an error of the SDK's client or of its transport. */
export function sendFailure(cause: unknown, retryAfterMs?: number): Failure {
  if (cause instanceof SdkHttpError) return httpFailure(cause, retryAfterMs);
  if (cause instanceof UnauthorizedError || cause instanceof InsufficientScopeError) {
    return { kind: "bad", code: "unauthorized", isFinal: true, message: cause.message, cause };
  }
  const own = ownErrorIn(cause);
  if (own !== undefined) return ownFailure(own);
  const problem = isInvalidAnswer(cause) ? invalidAnswer(cause) : unreadableAnswer(cause);
  if (problem !== undefined)
    return { kind: "bad", code: "protocol", isFinal: false, message: problem, cause };
  return {
    kind: "lost",
    notReceived: neverConnected(cause),
    retryAfterMs: undefined,
    message: `The server could not be reached: ${describeCause(cause)}`,
    cause,
    error: undefined,
  };
}

/** Why a request cannot be sent at all, for what its caller has put into it; undefined if it can. */
export function notJson(request: JSONRPCRequest): TypeError | undefined {
  try {
    JSON.stringify(request);
    return undefined;
  } catch (cause) {
    const what = "a BigInt, a circular reference, too deep a nesting, or a getter that throws";
    return new TypeError(
      `${request.method} cannot be sent, since JSON cannot carry what it contains: ${what}`,
      {
        cause,
      },
    );
  }
}

/** The reply for an error answer, which may stand for one that cannot be read, or for none. */
export function errorAnswer(error: JsonRpcError): Failure {
  if (isLost(error.data)) return brokenStream;
  const begun = begunDespite(error);
  if (begun !== undefined) {
    const { message } = error;
    const lost = { kind: "lost", notReceived: !begun, message, cause: undefined, error } as const;
    return { ...lost, retryAfterMs: retryAfterIn(error) };
  }
  if (!isMalformed(error.data)) return { kind: "error", error };
  return { kind: "bad", code: "protocol", isFinal: false, message: error.message };
}

/** The answer exceeds a bound; or there was no token: the `token` option threw, or there was none to be had. */
function ownFailure({ code, message, cause }: TaskClientError): Failure {
  if (code === "protocol") return { kind: "bad", code, isFinal: true, message, cause };
  if (code !== "connection") return { kind: "bad", code: "unauthorized", isFinal: true, message, cause };
  return { kind: "lost", notReceived: true, retryAfterMs: undefined, message, cause, error: undefined };
}

/** Timeouts, and what comes too early, too often, or when the server thinks that nobody waits any more. */
const passing: ReadonlySet<number> = new Set([408, 425, 429, 499]);

function httpFailure(cause: SdkHttpError, retryAfterMs: number | undefined): Failure {
  const { status, text } = cause.data;
  const error = errorInBody(text);
  const detail = messageInBody(text);
  const message = `The server answered HTTP ${status}${detail === undefined ? "" : `: ${detail}`}`;
  if (status >= 500 || passing.has(status)) {
    // With 429 the server did not begin. Any other may come from a proxy whose server had begun, unless the server says that it had not.
    const notReceived = status === 429 || (error !== undefined && begunDespite(error) === false);
    const pauseMs = retryAfterMs ?? (error && retryAfterIn(error));
    return { kind: "lost", notReceived, retryAfterMs: pauseMs, message, cause, error };
  }
  // A firewall answers 403 as well, but not with JSON-RPC.
  if (status === 401 || status === 403)
    return {
      kind: "bad",
      code: "unauthorized",
      isFinal: status === 401 || error !== undefined,
      message,
      cause,
    };
  if (error !== undefined) return { kind: "error", error };
  return { kind: "bad", code: "connection", isFinal: false, message, cause };
}

/** Errors of the SDK's client about an answer that has arrived. */
const invalidAnswers: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.ListPaginationExceeded,
]);

/** Whether the SDK's client got an answer that breaks the protocol, such as a task where none can be (X-008, X-B-006). */
export function isInvalidAnswer(cause: unknown): cause is SdkError {
  return cause instanceof SdkError && invalidAnswers.has(cause.code);
}

/** What is wrong with such an answer. */
export function invalidAnswer({ code, message, data }: SdkError): string {
  if (code === SdkErrorCode.InvalidResult) return invalidResult(message);
  if (code !== SdkErrorCode.UnsupportedResultType || !isJsonObject(data)) return message;
  return `The server answered ${String(data["method"])} with resultType ${JSON.stringify(data["resultType"])}`;
}

/** The first thing that is wrong, in the place of the validator's list of everything, which is JSON. */
function invalidResult(message: string): string {
  const { method, list } = /^Invalid result for (?<method>\S+): (?<list>\[.*)$/s.exec(message)?.groups ?? {};
  const issue = list === undefined ? undefined : firstIssue(list);
  return method === undefined || issue === undefined
    ? message
    : `The server's answer to ${method} is invalid: ${issue}`;
}

/** The first thing that a validator's list names; undefined if the text is no such list. */
export function firstIssue(list: string): string | undefined {
  try {
    const issues: unknown = JSON.parse(list);
    const issue: unknown = Array.isArray(issues) ? issues[0] : undefined;
    if (!isJsonObject(issue) || !Array.isArray(issue["path"])) return undefined;
    const path: readonly unknown[] = issue["path"];
    const place = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
    const where = place === "" ? "it" : place.replace(/^\./, "");
    const problem = String(issue["message"]).replace(/^Invalid input(: )?/, "");
    const what = problem.endsWith("received undefined")
      ? "is missing"
      : `is invalid${problem && `: ${problem}`}`;
    return `${where} ${what}`;
  } catch {
    return undefined;
  }
}

function unreadableAnswer(cause: unknown): string | undefined {
  if (cause instanceof NotAMessage) return cause.message;
  if (!(cause instanceof SdkError) || cause.code !== SdkErrorCode.ClientHttpUnexpectedContent)
    return undefined;
  const type = isJsonObject(cause.data) ? cause.data["contentType"] : undefined;
  return `The server answered with ${typeof type === "string" ? type : "no content type"} instead of JSON-RPC`;
}

const connectFailures = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Whether there was no connection at all, so that the server cannot have received the request. */
function neverConnected(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  // One error for each address of the host.
  if (cause instanceof AggregateError && cause.errors.length > 0) return cause.errors.every(neverConnected);
  if ("code" in cause && typeof cause.code === "string") return connectFailures.has(cause.code);
  return neverConnected(cause.cause);
}

export const brokenStream: LostReply = {
  kind: "lost",
  notReceived: false,
  retryAfterMs: undefined,
  message: "The response stream ended before the answer arrived",
  cause: undefined,
  error: undefined,
};

export const noAnswerText = "The server accepted the request but did not answer it";

// The response ended without an answer.
export const noAnswer: Reply<never> = {
  kind: "bad",
  code: "protocol",
  isFinal: false,
  message: noAnswerText,
};
