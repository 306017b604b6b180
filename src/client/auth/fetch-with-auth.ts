import {
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthClientProvider,
  withDpopFromProvider,
} from "@modelcontextprotocol/client";
import { TaskClientError } from "../task-client-error.ts";
import { type Challenge, LoginTokens, ProviderTokens, type TokenSource } from "./tokens.ts";
import type { ClientClock } from "../clock.ts";
import type { LoginStore } from "./login.ts";
import { chunksOf } from "../transport/server-sent-events.ts";
import { isJsonObject } from "../../generation/message.ts";
import { withoutNulls } from "../reply/readable-lists.ts";

/**
 * A fetch that sends a token with requests to the origin of `server`, and retries with another token if the server refuses it. Requests
 * to other origins are sent unchanged.
 */
function authorizedFetch(fetchIt: FetchLike, server: URL, tokens: TokenSource): FetchLike {
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

interface FetchWithAuthOptions {
  readonly auth: OAuthClientProvider | LoginStore;
  readonly server: URL;
  /** Sends the requests to the server. */
  readonly fetch: FetchLike;
  /** How those to authorization servers are sent. */
  readonly requests: OAuthRequests;
  readonly clock: ClientClock;
}

/** A fetch whose requests to the server carry the tokens of the `auth` option. */
export function fetchWithAuth({
  auth,
  server,
  fetch: fetchIt,
  requests,
  clock,
}: FetchWithAuthOptions): FetchLike {
  const oauth = oauthFetch(requests, clock);
  if (!isProvider(auth)) {
    return authorizedFetch(fetchIt, server, new LoginTokens({ store: auth, server, fetch: oauth, clock }));
  }
  const proven = auth.dpop === undefined ? fetchIt : withDpopFromProvider(auth)(fetchIt);
  return authorizedFetch(proven, server, new ProviderTokens(auth, server, oauth));
}

function isProvider(auth: OAuthClientProvider | LoginStore): auth is OAuthClientProvider {
  return "clientInformation" in auth;
}

/** How long an authorization server may take to answer. */
const answerMs = 30_000;

const answerBytes = 4 * 2 ** 20;

/** How the requests of log-ins are sent. */
interface OAuthRequests {
  /** Default: the global `fetch`. */
  readonly fetch?: FetchLike | undefined;
  /** With `public` they reach only the public internet, and do not go through `fetch`. */
  readonly addresses?: "any" | "public" | undefined;
}

/** A fetch with limits of time and size, for requests to authorization servers. The SDK follows their redirects itself, within one origin. */
export function oauthFetch(
  { fetch: given, addresses }: OAuthRequests,
  clock: ClientClock,
  signal?: AbortSignal,
): FetchLike {
  const fetchIt: FetchLike = addresses === "public" ? fetchPublic : (given ?? fetch);
  return async (url, init = {}) => {
    const deadline = clock.deadline(answerMs);
    const signals = [deadline.signal, signal, init.signal].filter((each) => each != null);
    try {
      const response = await fetchIt(url, { ...init, signal: AbortSignal.any(signals) });
      // The answers are small. Reading them here applies the limits to them too.
      const body = response.body === null ? null : await wholeBody(response.body, new URL(url).origin);
      const { status, statusText, headers } = response;
      return new Response(body && (await withoutNullMembers(body)), { status, statusText, headers });
    } finally {
      deadline.clear();
    }
  };
}

/** Some servers write null for what they do not have, and the SDK would refuse their whole answer. */
async function withoutNullMembers(body: Blob): Promise<Blob | string> {
  try {
    const value: unknown = JSON.parse(await body.text());
    return isJsonObject(value) ? JSON.stringify(withoutNulls(value)) : body;
  } catch {
    return body;
  }
}

/** Loaded when it is needed. */
const fetchPublic: FetchLike = async (url, init) =>
  (await import("./public-fetch.ts")).publicFetch(url, init);

async function wholeBody(body: ReadableStream<Uint8Array<ArrayBuffer>>, server: string): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const part of chunksOf(body)) {
    size += part.length;
    if (size > answerBytes)
      throw new TaskClientError("protocol", `${server} sent more than 4 MiB in one answer`);
    parts.push(part);
  }
  return new Blob(parts);
}
