import { extractWWWAuthenticateParams, type FetchLike } from "@modelcontextprotocol/client";
import { TaskClientError } from "../task-client-error.ts";
import type { Challenge, TokenSource } from "./token-source.ts";

/**
 * A fetch that sends a token with requests to the origin of `server`, and retries with another token if the server refuses it. Requests
 * to other origins are sent unchanged.
 */
export function authorizedFetch(fetchIt: FetchLike, server: URL, tokens: TokenSource): FetchLike {
  return async (url, init = {}) => {
    if (new URL(url).origin !== server.origin) return fetchIt(url, init);
    const answered = new Set<Challenge["wants"]>();
    for (;;) {
      const token = await tokens.token();
      const response = await fetchIt(url, withToken(init, token));
      const challenge = challengeOf(response);
      if (challenge === undefined || answered.has(challenge.wants)) return response;
      answered.add(challenge.wants);
      try {
        if (!(await tokens.renew(token, challenge))) return response;
      } catch (error) {
        await response.body?.cancel();
        throw error;
      }
      await response.body?.cancel();
    }
  };
}

function withToken(init: RequestInit, token: string | undefined): RequestInit {
  if (token === undefined) return init;
  const headers = new Headers(init.headers);
  headers.set("authorization", bearer(token));
  return { ...init, headers };
}

/** The header value for a token. Throws for a token that no header can carry, without quoting it: fetch would include it in its error. */
export function bearer(token: string): string {
  if (/^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(token)) return `Bearer ${token}`;
  const message = "The token has a line break or another character that a header cannot contain";
  throw new TaskClientError("unauthorized", message);
}

/** What the server asks for, if it refused the request because of its token. */
export function challengeOf(response: Response): Challenge | undefined {
  const { status } = response;
  if (status !== 401 && status !== 403) return undefined;
  const { scope, error, resourceMetadataUrl: metadataUrl } = extractWWWAuthenticateParams(response);
  if (status === 401) return { wants: "token", scope, metadataUrl };
  return error === "insufficient_scope" ? { wants: "scope", scope, metadataUrl } : undefined;
}
