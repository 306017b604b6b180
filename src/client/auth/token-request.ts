import {
  ClientCredentialsProvider,
  fetchToken,
  refreshAuthorization,
  type FetchLike,
  type OAuthMetadata,
  type OAuthTokens,
} from "@modelcontextprotocol/client";
import { scopeUnion } from "./scopes.ts";
import type { Login } from "./login.ts";

export interface TokenRequest {
  readonly fetch: FetchLike;
  /** Epoch milliseconds. */
  readonly now: number;
}

type Known = Omit<Login, "accessToken" | "refreshToken" | "scope" | "expiresAt">;

/** The login with the tokens that the authorization server returned. */
export function withTokens(known: Known, tokens: OAuthTokens, now: number): Login {
  const { access_token: accessToken, refresh_token: refreshToken, scope, expires_in: seconds } = tokens;
  return {
    ...known,
    accessToken,
    refreshToken,
    scope,
    expiresAt: seconds === undefined ? undefined : endAfter(now, seconds),
  };
}

/** The latest time that a Date can hold. */
const lastMoment = 8.64e15;

/** Some servers return their largest number for a token that never expires. */
function endAfter(now: number, seconds: number): number | undefined {
  const at = now + seconds * 1000;
  return at > lastMoment ? undefined : at;
}

/** Whether another token can be obtained without the user. */
export function canRenew({ grant, refreshToken }: Login): boolean {
  return refreshToken !== undefined || grant === "client_credentials";
}

/** The same login with a new token, and with more scopes if its grant allows that. */
export async function renewed(
  login: Login,
  scope: string | undefined,
  request: TokenRequest,
): Promise<Login> {
  const { issuer, resource, refreshToken } = login;
  const wanted = scopeUnion(login.scope, scope);
  if (login.grant === "client_credentials") {
    const tokens = await clientToken(login, wanted, request);
    return withTokens({ ...login }, { scope: wanted, ...tokens }, request.now);
  }
  if (refreshToken === undefined) throw new TypeError("The login has no refresh token");
  const tokens = await refreshAuthorization(issuer, {
    metadata: metadataOf(login),
    clientInformation: clientInformation(login),
    refreshToken,
    fetchFn: request.fetch,
    ...(resource !== undefined && { resource }),
  });
  return withTokens({ ...login }, { scope: login.scope, ...tokens }, request.now);
}

/** A token for the client itself (client credentials). */
export async function clientToken(
  login: Known,
  scope: string | undefined,
  request: TokenRequest,
): Promise<OAuthTokens> {
  const { issuer, resource, client } = login;
  const provider = new ClientCredentialsProvider({
    clientId: client.id,
    clientSecret: client.secret ?? "",
    expectedIssuer: issuer,
  });
  return fetchToken(provider, issuer, {
    metadata: metadataOf(login),
    fetchFn: request.fetch,
    ...(resource !== undefined && { resource }),
    ...(scope !== undefined && { scope }),
  });
}

/** What the SDK needs to know about an authorization server to request a token. */
function metadataOf({ issuer, tokenEndpoint, authMethods }: Known): OAuthMetadata {
  return {
    issuer,
    token_endpoint: tokenEndpoint,
    authorization_endpoint: tokenEndpoint, // unused, but the type requires one
    response_types_supported: [],
    ...(authMethods !== undefined && { token_endpoint_auth_methods_supported: [...authMethods] }),
  };
}

/** The client in the SDK's form. */
export function clientInformation({ client }: Pick<Login, "client">): {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly token_endpoint_auth_method?: string;
} {
  const { id, secret, method } = client;
  return {
    client_id: id,
    ...(secret !== undefined && { client_secret: secret }),
    ...(method !== undefined && { token_endpoint_auth_method: method }),
  };
}
