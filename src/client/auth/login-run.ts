import {
  discoverOAuthServerInfo,
  type FetchLike,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthServerInfo,
  selectResourceURL,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { TaskClientError } from "../task-client-error.ts";
import { redacted } from "../transport/server-name.ts";
import { type Login, type LoginClient, type LoginStore } from "./login.ts";
import { mayBeRefusedByHttpSse } from "../transport/sse-transport.ts";
import { challengeOf } from "./fetch-with-auth.ts";
import { authFailure, type Challenge } from "./tokens.ts";
import type { TimeSpan } from "../../task/time.ts";
import type { ClientClock } from "../clock.ts";

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

export const defaultClientName = "Holdfast";

/** The configured client in the SDK's form, bound to the issuer. If undefined, a client is described or registered. */
export function configuredClient(
  { client }: LogInOptions,
  { issuer }: Authority,
): StoredOAuthClientInformation | undefined {
  if (client === undefined) return undefined;
  const { id, secret } = client;
  return { client_id: id, ...(secret !== undefined && { client_secret: secret }), issuer };
}

/** Throws if no client is configured and the authorization server cannot register one. */
export function assertClient(
  { client, clientMetadataUrl }: LogInOptions,
  { issuer, info: { authorizationServerMetadata: metadata } }: Authority,
): void {
  // Without metadata, the endpoint may be at its default path.
  if (client !== undefined || metadata === undefined) return;
  const takesDocument =
    clientMetadataUrl !== undefined && metadata["client_id_metadata_document_supported"] === true;
  if (takesDocument || metadata.registration_endpoint !== undefined) return;
  const message = `${issuer} does not register clients automatically: give the id of a client that is registered there`;
  throw new TaskClientError("unauthorized", message);
}

/** A client in the form that logins store. */
export function loginClient(client: StoredOAuthClientInformation): LoginClient {
  const method = "token_endpoint_auth_method" in client ? client.token_endpoint_auth_method : undefined;
  return { id: client.client_id, secret: client.client_secret, method };
}

/** What a login stores about its authorization server. */
export function loginAuthority({
  issuer,
  info,
}: Authority): Pick<Login, "issuer" | "tokenEndpoint" | "authMethods" | "revocationEndpoint" | "resource"> {
  const { authorizationServerMetadata: metadata, authorizationServerUrl, resourceMetadata } = info;
  return {
    issuer,
    tokenEndpoint: metadata?.token_endpoint ?? new URL("/token", authorizationServerUrl).href,
    authMethods: metadata?.token_endpoint_auth_methods_supported,
    revocationEndpoint: endpointOf(info, "revocation_endpoint"),
    resource: resourceMetadata?.resource,
  };
}

interface LoginFlowOptions {
  readonly clientName: string;
  readonly clientInformation?: StoredOAuthClientInformation | undefined;
  readonly clientMetadataUrl?: string | undefined;
  readonly grantType: string;
  /** The browser's redirect URI; undefined without a browser. */
  readonly redirectUrl?: URL;
  readonly state?: string;
  /** The parameters of a token request without an authorization code. */
  readonly tokenRequest?: () => URLSearchParams;
}

/** One login in progress, as a provider for the SDK's client authentication. It keeps everything in memory. */
export class LoginFlow implements OAuthClientProvider {
  readonly redirectUrl: URL | undefined;
  readonly clientMetadata: OAuthClientMetadata;
  /** The address where the user logs in, once it is known. */
  address: URL | undefined;
  declare readonly clientMetadataUrl?: string;
  readonly #options: LoginFlowOptions;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = "";
  #discovery: OAuthDiscoveryState | undefined;

  constructor(options: LoginFlowOptions) {
    const { clientName, grantType, redirectUrl, clientInformation, clientMetadataUrl } = options;
    this.#options = options;
    this.#client = clientInformation;
    this.redirectUrl = redirectUrl;
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
    this.clientMetadata = {
      client_name: clientName,
      redirect_uris: redirectUrl === undefined ? [] : [redirectUrl.href],
      grant_types: [grantType, "refresh_token"],
      ...(redirectUrl !== undefined && { response_types: ["code"] }),
      token_endpoint_auth_method: "none",
      application_type: "native",
    };
  }

  state(): string {
    return this.#options.state ?? "";
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  redirectToAuthorization(address: URL): void {
    this.address = address;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  prepareTokenRequest(): URLSearchParams | undefined {
    return this.#options.tokenRequest?.();
  }
}

/** Where a user logs in. */
export interface LoginAddress {
  readonly url: URL;
  /** The code to enter there, with `flow: "device"`. */
  readonly code?: string | undefined;
}

/** Options of `logIn`. */
export interface LogInOptions {
  /** Where the login is stored, for `auth` of `connect`. */
  readonly store: LoginStore;
  /**
   * `browser`: the user logs in with a browser on this machine. `device`: on any device, with a code, if the authorization server supports
   * that (RFC 8628). `client`: without a user, for the program itself, with `client`. Default `browser`.
   */
  readonly flow?: "browser" | "device" | "client";
  /** Called with the address where the user logs in: show it to the user, and open it. Not called with `flow: "client"`. */
  readonly onAddress?: (address: LoginAddress) => unknown;
  /**
   * The client's id at the authorization server, and its secret if it has one. Default: `clientMetadataUrl` if the authorization server
   * accepts that, otherwise an id that is registered for this login.
   */
  readonly client?: { readonly id: string; readonly secret?: string | undefined };
  /** The `https` URL of a client id metadata document that describes this client. */
  readonly clientMetadataUrl?: string;
  /** The client's display name. Default: holdfast. */
  readonly clientName?: string;
  /** The scopes to request, separated by spaces. Default: those that the server names. */
  readonly scope?: string;
  /** The only issuer to accept. Default: the one that the server names. */
  readonly issuer?: string;
  /** Sends the HTTP requests. Default: the global `fetch`. */
  readonly fetch?: FetchLike;
  /**
   * Which addresses the login may use. Servers name the metadata to read and the authorization server, so a program that connects to
   * servers of others, such as a hosted platform, sets `public`: only the public internet is reached, checked on the address that is
   * connected to, without proxies and without `fetch`; any other address rejects with `unauthorized`. Default `any`.
   */
  readonly addresses?: "any" | "public";
  readonly signal?: AbortSignal;
  /** How long to wait for the user, in milliseconds or such as `"5m"`. Default 10 minutes. */
  readonly timeoutMs?: TimeSpan;
}

/** What all login flows share. */
export interface LoginRun {
  readonly server: URL;
  readonly options: LogInOptions;
  readonly authority: Authority;
  readonly fetch: FetchLike;
  readonly clock: ClientClock;
  /** Aborts when the time limit has passed or the caller stops waiting. */
  readonly signal: AbortSignal;
}
