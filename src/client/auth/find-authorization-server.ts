import {
  discoverOAuthServerInfo,
  selectResourceURL,
  type FetchLike,
  type OAuthClientProvider,
  type OAuthServerInfo,
} from "@modelcontextprotocol/client";
import { TaskClientError } from "../task-client-error.ts";
import { authFailure } from "./auth-failure.ts";
import { mayBeRefusedByHttpSse } from "../transport/sse-transport.ts";
import { challengeOf } from "./authorized-fetch.ts";
import type { Challenge } from "./token-source.ts";

/** Who issues tokens for a server, and how. */
export interface Authority {
  readonly info: OAuthServerInfo;
  readonly issuer: string;
  readonly challenge: Challenge | undefined;
}

/** Asks a server without a token who issues tokens for it, and the issuer how. */
export async function findAuthority(server: URL, fetchIt: FetchLike): Promise<Authority> {
  try {
    const challenge = await challengeBy(server, fetchIt);
    const info = await discoverOAuthServerInfo(server, {
      fetchFn: fetchIt,
      ...(challenge?.metadataUrl !== undefined && { resourceMetadataUrl: challenge.metadataUrl }),
    });
    const { authorizationServerMetadata: metadata, resourceMetadata, authorizationServerUrl } = info;
    if (challenge === undefined && metadata === undefined && resourceMetadata === undefined)
      throw new TaskClientError("protocol", `${server.href} does not ask for a login`);
    return { info, issuer: metadata?.issuer ?? authorizationServerUrl, challenge };
  } catch (cause) {
    throw authFailure(`Could not find out how to log in to ${server.href}`, cause);
  }
}

/**
 * What the server says to a request without a token. It is a ping, which does nothing where it is served; one that has only the
 * HTTP+SSE transport is asked for its stream.
 */
async function challengeBy(server: URL, fetchIt: FetchLike): Promise<Challenge | undefined> {
  const answer = await fetchIt(server, {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: "login", method: "ping" }),
  });
  await answer.body?.cancel();
  if (!mayBeRefusedByHttpSse(answer.status)) return challengeOf(answer);
  const stream = await fetchIt(server, { redirect: "manual", headers: { accept: "text/event-stream" } });
  await stream.body?.cancel();
  return challengeOf(stream);
}

/** What tokens for the server are asked for; throws if its metadata is about another server. */
export async function resourceOf(
  server: URL,
  provider: OAuthClientProvider,
  { resourceMetadata }: OAuthServerInfo,
): Promise<string | undefined> {
  await selectResourceURL(server, provider, resourceMetadata);
  return resourceMetadata?.resource;
}

/** The scopes to ask for: those of the user, else those that the server names. */
export function scopeFor(
  given: string | undefined,
  { challenge, info: { resourceMetadata } }: Authority,
): string | undefined {
  return given ?? challenge?.scope ?? resourceMetadata?.scopes_supported?.join(" ");
}

/** An endpoint that the authorization server has beside those that the SDK knows. */
export function endpointOf(
  { authorizationServerMetadata }: OAuthServerInfo,
  name: string,
): string | undefined {
  const metadata: Readonly<Record<string, unknown>> = { ...authorizationServerMetadata };
  const endpoint = metadata[name];
  return typeof endpoint === "string" ? endpoint : undefined;
}
