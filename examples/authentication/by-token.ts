import type { Authenticate } from "holdfast/http";

/** Identifies callers by their bearer tokens; refuses a missing or unknown token. */
export function byToken(tokens: ReadonlyMap<string, string>): Authenticate {
  return async (request) => {
    const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
    const principal = token === undefined ? undefined : tokens.get(token);
    if (token === undefined || principal === undefined) return undefined;
    // Tasks belong to the principal. The SDK's own handlers see the caller as `authInfo`.
    return { principal, authInfo: { token, clientId: principal, scopes: [] } };
  };
}
