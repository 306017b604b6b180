import { OAuthError } from "@modelcontextprotocol/client";
import { describeCause } from "../transport/describe-cause.ts";
import { TaskClientError } from "../task-client-error.ts";

/** Errors of an authorization server that a retry would not fix. */
const ends: ReadonlySet<string> = new Set(["invalid_grant", "invalid_client", "unauthorized_client"]);

/** The maximum length of an authorization server's text in an error. */
const longest = 300;

/** Whether the authorization server no longer accepts the login. */
export function isEnded(cause: unknown): boolean {
  return cause instanceof OAuthError && ends.has(cause.code);
}

/**
 * The error for a failed request to an authorization server: `unauthorized` if the server refused, `connection` if it could not answer,
 * so that a wait continues.
 */
export function authFailure(what: string, cause: unknown): TaskClientError {
  if (cause instanceof TaskClientError) return cause;
  const message = `${what}: ${shortened(describeCause(cause))}`;
  return new TaskClientError(isOutage(cause) ? "connection" : "unauthorized", message, { cause });
}

/** The SDK quotes what it cannot parse, such as a proxy's whole page. */
function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= longest ? line : `${line.slice(0, longest - 1).toWellFormed()}…`;
}

/** Whether a later request may succeed. */
export function isOutage(cause: unknown): boolean {
  if (cause instanceof OAuthError)
    return ["server_error", "temporarily_unavailable", "too_many_requests"].includes(cause.code);
  return cause instanceof TypeError || (cause instanceof Error && cause.name === "TimeoutError");
}
