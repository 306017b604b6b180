import {
  InsufficientScopeError,
  OAuthError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import { TaskClientError } from "../../client/task-client-error.ts";
import { stderrMark } from "../../client/transport/process-transport.ts";
import { innermost } from "../../client/transport/send-failure.ts";
import { quoteWord } from "../arguments/shell-words.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { commandPrefix, shownGiven, urlOfPath, type FoundServer } from "./find-server.ts";

const hints: readonly (readonly [RegExp, string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, "The host name could not be resolved (DNS)."],
  [/^ECONNREFUSED$/, "Nothing is listening at that address."],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/, "The host cannot be reached from here."],
  [
    /CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|^UNABLE_TO_/,
    "The TLS connection failed: the certificate is not accepted, or the server does not speak TLS.",
  ],
  [/^ENOENT$/, "The command or the working directory does not exist."],
  [/^EACCES$/, "You do not have permission to run the command."],
];

/** Shows the end of the log, which says why the process ended. */
const maxLogCharacters = 4_000;

/** An error of `connect`, with a hint for the user and the end of the server's log. */
export function explainConnectFailure(error: unknown, server: FoundServer, log = ""): unknown {
  if (!(error instanceof TaskClientError)) return error;
  const reason = `Could not connect to ${asTyped(server)}: ${reasonOf(error, server)}`;
  return withLines(error, [reason, hint(error, server), serverLog(log)]);
}

/** The error for a connection that was lost or refused later, with the end of the server's log, or how to log in. */
export function explainLoss(error: unknown, server: FoundServer, log: string): unknown {
  if (!(error instanceof TaskClientError)) return error;
  if (error.code === "unauthorized") return withLines(error, [error.message, loginHint(error, server)]);
  return error.code === "connection" ? withLines(error, [error.message, serverLog(log)]) : error;
}

function withLines(error: TaskClientError, lines: readonly (string | undefined)[]): TaskClientError {
  const { code, cause, taskId, reference } = error;
  const rpc = error.error === undefined ? {} : { error: error.error };
  const [message = "", ...rest] = lines.filter((line) => line !== undefined);
  const [headline = ""] = message.split(stderrMark); // the log follows
  const text = [headline, ...rest].join("\n");
  return new TaskClientError(code, text, { cause, taskId, reference, ...rpc });
}

function serverLog(log: string): string | undefined {
  // A server that exits at once is started again for the older protocols, and logs the same again.
  const half = log.slice(0, log.length / 2);
  const tail = (half.repeat(2) === log ? half : log).trim().slice(-maxLogCharacters);
  return tail === "" ? undefined : `The end of the server's log:\n${tail}`;
}

/** The reason without the text of libraries: the innermost cause, if there is one. */
function reasonOf({ message, cause }: TaskClientError, server: FoundServer): string {
  if (isTimeout(cause)) return "it did not answer in time";
  // Our own message is more useful than the authorization server's.
  if (cause instanceof OAuthError) return message;
  const inner = cause instanceof Error ? innermost(cause) : undefined;
  const text = inner === undefined || inner === cause ? message : inner.message || codeOf(inner) || message;
  return text
    .replaceAll(server.name, asTyped(server))
    .replaceAll(server.spec.given, server.shown)
    .replace(`Could not connect to ${asTyped(server)}: `, "")
    .replace("answered the probe with", "answered")
    .trim();
}

/** Whether the answer is probably not from an MCP server. */
function isNoEndpoint({ cause }: TaskClientError): boolean {
  return cause instanceof SdkHttpError && [400, 404, 405, 406, 415].includes(cause.data.status);
}

function asTyped({ shown }: FoundServer): string {
  return shown.startsWith(commandPrefix) ? shown.slice(commandPrefix.length) : shown;
}

function isTimeout(cause: unknown): boolean {
  return cause instanceof SdkError && cause.code === SdkErrorCode.RequestTimeout;
}

function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function loginHint({ cause }: TaskClientError, server: FoundServer): string | undefined {
  if (typeof server.target !== "string") return undefined;
  const scope = cause instanceof InsufficientScopeError ? cause.requiredScope : undefined;
  const scopes = scope === undefined ? "" : ` --scope ${quoteWord(sanitizeLine(scope))}`;
  const command = `holdfast login ${quoteWord(asTyped(server))}${scopes}`;
  if (cause instanceof SdkHttpError && cause.data.status === 403)
    return `To connect as someone else, use ${command}, HOLDFAST_TOKEN, --token or --header.`;
  return `Log in with:\n  ${command}\nOr give a token: HOLDFAST_TOKEN, --token or --header.`;
}

function hint(error: TaskClientError, server: FoundServer): string | undefined {
  const { target } = server;
  if (error.code === "unauthorized") return loginHint(error, server);
  if (isNoEndpoint(error))
    return `Something answers at that address, but not as an MCP server. Check the path.${usualPath(target)}`;
  if (error.code === "protocol")
    return "Something answers at that address, but it is not an MCP server that this client can use.";
  const code = codeOf(innermost(error));
  const found = code === undefined ? undefined : hints.find(([pattern]) => pattern.test(code));
  if (found !== undefined) return `${found[1]}${meantUrl(server)}`;
  return typeof target === "string" || isTimeout(error.cause)
    ? undefined
    : "The process ended, or closed its output, before it answered. If another command is running this server, end that one first: most servers cannot share their files.";
}

/** For a command that looks like an address without a port. */
function meantUrl({ spec, target }: FoundServer): string {
  const url = typeof target === "string" ? undefined : urlOfPath(spec.given);
  return url === undefined ? "" : ` Did you mean ${shownGiven(url)}?`;
}

/** The usual path of MCP servers, for an address without a path. */
function usualPath(target: FoundServer["target"]): string {
  if (typeof target !== "string" || new URL(target).pathname !== "/") return "";
  return ` Many servers are at ${new URL("/mcp", target).href}.`;
}
