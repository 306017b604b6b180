import {
  discoverOAuthServerInfo,
  selectResourceURL,
  type FetchLike,
  type OAuthClientProvider,
  type OAuthServerInfo,
} from "@modelcontextprotocol/client";
import { TaskClientError } from "../task-client-error.ts";
import { redacted } from "../transport/server-name.ts";
import { authFailure } from "./auth-failure.ts";
import { mayBeRefusedByHttpSse } from "../transport/sse-transport.ts";
import { challengeOf } from "./authorized-fetch.ts";
import type { Challenge } from "./token-source.ts";

/** A server's token issuer, and how to use it. */
export interface Authority {
  readonly info: OAuthServerInfo;
  readonly issuer: string;
  readonly challenge: Challenge | undefined;
}

/** Finds a server's issuer by a request without a token, and the issuer's metadata. */
export async function findAuthority(server: URL, fetchIt: FetchLike): Promise<Authority> {
  try {
    const challenge = await challengeBy(server, fetchIt);
    const info = await discoverOAuthServerInfo(server, {
      fetchFn: fetchIt,
      ...(challenge?.metadataUrl !== undefined && { resourceMetadataUrl: challenge.metadataUrl }),
    });
    const { authorizationServerMetadata: metadata, resourceMetadata, authorizationServerUrl } = info;
    if (challenge === undefined && metadata === undefined && resourceMetadata === undefined)
      throw new TaskClientError("protocol", `${redacted(server.href)} does not ask for a login`);
    return { info, issuer: metadata?.issuer ?? authorizationServerUrl, challenge };
  } catch (cause) {
    throw authFailure(`Could not find out how to log in to ${redacted(server.href)}`, cause);
  }
}

/**
 * The server's answer to a request without a token. The request is a ping, which has no effect; a server that has only the HTTP+SSE
 * transport is asked for its stream.
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

/** The resource to request tokens for. Throws if the server's metadata is about another server. */
export async function resourceOf(
  server: URL,
  provider: OAuthClientProvider,
  { resourceMetadata }: OAuthServerInfo,
): Promise<string | undefined> {
  await selectResourceURL(server, provider, resourceMetadata);
  return resourceMetadata?.resource;
}

/** The scopes to request: the user's, otherwise those that the server names. */
export function scopeFor(
  given: string | undefined,
  { challenge, info: { resourceMetadata } }: Authority,
): string | undefined {
  return given ?? challenge?.scope ?? resourceMetadata?.scopes_supported?.join(" ");
}

/** An endpoint in the authorization server's metadata that the SDK does not know. */
export function endpointOf(
  { authorizationServerMetadata }: OAuthServerInfo,
  name: string,
): string | undefined {
  const metadata: Readonly<Record<string, unknown>> = { ...authorizationServerMetadata };
  const endpoint = metadata[name];
  return typeof endpoint === "string" ? endpoint : undefined;
}
