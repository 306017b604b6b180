import {
  auth,
  ClientCredentialsProvider,
  type FetchLike,
  fetchToken,
  InsufficientScopeError,
  type OAuthClientProvider,
  OAuthError,
  type OAuthMetadata,
  type OAuthTokens,
  refreshAuthorization,
} from "@modelcontextprotocol/client";
import { type Login, loginName, type LoginStore } from "./login.ts";
import type { ClientClock } from "../clock.ts";
import { describeCause, TaskClientError } from "../task-client-error.ts";
import { redacted } from "../transport/server-name.ts";
import { firstIssue } from "../transport/send-failure.ts";

/** All scopes of several lists, without duplicates; undefined for none. */
function scopeUnion(...lists: readonly (string | undefined)[]): string | undefined {
  const scopes = new Set(lists.flatMap((list) => list?.split(/\s+/) ?? []).filter((scope) => scope !== ""));
  return scopes.size === 0 ? undefined : [...scopes].join(" ");
}

/** Why a server refused a request, from its `WWW-Authenticate` header. */
export interface Challenge {
  /** `token`: it wants a token, or a different one (401). `scope`: the token lacks scopes (403). */
  readonly wants: "token" | "scope";
  /** The scopes that it names. */
  readonly scope: string | undefined;
  /** The URL of its protected resource metadata (RFC 9728). */
  readonly metadataUrl: URL | undefined;
}

/** Where the access tokens of a connection come from. */
export interface TokenSource {
  /** The token to send; undefined to send none. */
  token(): Promise<string | undefined>;
  /**
   * Gets another token than `refused`, once for all requests refused at the same time. Resolves with false if there is none. Rejects with
   * a TaskClientError if it cannot be obtained now (`connection`) or without the user (`unauthorized`).
   */
  renew(refused: string | undefined, challenge: Challenge): Promise<boolean>;
}

export interface TokenRequest {
  readonly fetch: FetchLike;
  /** Epoch milliseconds. */
  readonly now: number;
}

type Known = Omit<Login, "accessToken" | "refreshToken" | "scope" | "expiresAt">;

/** The login with the tokens that the authorization server returned. */
export function withTokens(known: Known, tokens: OAuthTokens, now: number): Login {
  assertBearer(tokens);
  const { access_token: accessToken, refresh_token: refreshToken, scope, expires_in: seconds } = tokens;
  return {
    ...known,
    accessToken,
    refreshToken,
    scope,
    expiresAt: seconds === undefined ? undefined : endAfter(now, seconds),
  };
}

/**
 * Throws for a token of another type: how requests prove that it is theirs is unknown here, and sent plainly it would be given away. Those of a
 * provider that `proves` (DPoP) may be bound to its key.
 */
function assertBearer({ token_type: type }: OAuthTokens, proves = false): void {
  const named = type?.toLowerCase();
  if (named === undefined || named === "bearer" || (proves && named === "dpop")) return;
  const message = `The authorization server gave a token of type ${JSON.stringify(type.slice(0, 100))}. Only tokens of type "Bearer" can be used: configure it to give such tokens to this client.`;
  throw new TaskClientError("unauthorized", message);
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
async function renewed(login: Login, scope: string | undefined, request: TokenRequest): Promise<Login> {
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

/** Requests that are refused for the same reason at the same time share one renewal. */
class Renewals {
  readonly #running = new Map<Challenge["wants"], Promise<boolean>>();

  of({ wants }: Challenge, renew: () => Promise<boolean>): Promise<boolean> {
    const running = this.#running.get(wants) ?? renew().finally(() => this.#running.delete(wants));
    this.#running.set(wants, running);
    return running;
  }
}

/** A token is renewed this long before it expires, because the request takes time. */
const leewayMs = 10_000;

interface LoginTokensOptions {
  readonly store: LoginStore;
  readonly server: URL;
  readonly fetch: FetchLike;
  readonly clock: ClientClock;
}

/** The tokens of a stored login. Without one, requests go without a token. */
export class LoginTokens implements TokenSource {
  readonly #options: LoginTokensOptions;
  readonly #name: string;
  readonly #renewing = new Renewals();
  #login: Login | undefined;

  constructor(options: LoginTokensOptions) {
    this.#options = options;
    this.#name = loginName(options.server);
  }

  async token(): Promise<string | undefined> {
    const login = (this.#login ??= await this.#options.store.load(this.#name));
    if (login?.expiresAt === undefined || !canRenew(login)) return login?.accessToken;
    if (login.expiresAt <= this.#options.clock.now() + leewayMs) {
      try {
        await this.renew(login.accessToken, { wants: "token", scope: undefined, metadataUrl: undefined });
      } catch (error) {
        // While its server does not answer, the token is good for the rest of its time.
        if (this.#login !== login || login.expiresAt <= this.#options.clock.now()) throw error;
      }
    }
    return this.#login?.accessToken;
  }

  async renew(refused: string | undefined, challenge: Challenge): Promise<boolean> {
    return this.#renewing.of(challenge, () => this.#renew(refused, challenge));
  }

  async #renew(refused: string | undefined, { wants, scope }: Challenge): Promise<boolean> {
    if (this.#login !== undefined && this.#login.accessToken !== refused) return true;
    const { store, fetch: fetchIt, clock, server } = this.#options;
    if ((await store.load(this.#name)) === undefined) return false;
    return store.exclusively(this.#name, async () => {
      // Another process may have renewed it meanwhile, or the user logged in again.
      const login = (this.#login = await store.load(this.#name));
      if (login === undefined) return false;
      if (login.accessToken !== refused) return true;
      if (wants === "scope" && login.grant !== "client_credentials") throw this.#lacks(login, scope);
      if (!canRenew(login)) return false;
      try {
        this.#login = await renewed(login, scope, { fetch: fetchIt, now: clock.now() });
      } catch (cause) {
        if (!isEnded(cause))
          throw authFailure(`The login to ${redacted(server.href)} could not be renewed`, cause);
        await store.delete(this.#name);
        this.#login = undefined;
        const message = `The login to ${redacted(server.href)} is no longer valid: ${login.issuer} rejected it`;
        throw new TaskClientError("unauthorized", message, { cause });
      }
      await store.save(this.#name, this.#login);
      return true;
    });
  }

  /** A refresh cannot add scopes (RFC 6749, 6): the user has to log in again, without losing the current scopes. */
  #lacks(login: Login, scope: string | undefined): TaskClientError {
    const requiredScope = scopeUnion(login.scope, scope) ?? "";
    const message = `The login to ${redacted(this.#options.server.href)} lacks a required scope: it needs ${JSON.stringify(requiredScope)}`;
    const cause = new InsufficientScopeError({ requiredScope });
    return new TaskClientError("unauthorized", message, { cause });
  }
}

/** The tokens of an SDK provider, used as the SDK's transport would use them. */
export class ProviderTokens implements TokenSource {
  readonly #provider: OAuthClientProvider;
  readonly #server: URL;
  readonly #fetch: FetchLike;
  readonly #renewing = new Renewals();
  /** All scopes that the server has named. */
  #scope: string | undefined;

  constructor(provider: OAuthClientProvider, server: URL, fetchIt: FetchLike) {
    this.#provider = provider;
    this.#server = server;
    this.#fetch = fetchIt;
  }

  async token(): Promise<string | undefined> {
    const tokens = await this.#provider.tokens();
    if (tokens !== undefined) assertBearer(tokens, this.#provider.dpop !== undefined);
    return tokens?.access_token;
  }

  async renew(refused: string | undefined, challenge: Challenge): Promise<boolean> {
    return this.#renewing.of(challenge, () => this.#renew(refused, challenge));
  }

  async #renew(refused: string | undefined, { wants, scope, metadataUrl }: Challenge): Promise<boolean> {
    const tokens = await this.#provider.tokens();
    if (tokens !== undefined && tokens.access_token !== refused) return true;
    this.#scope = scopeUnion(this.#scope, wants === "scope" ? tokens?.scope : undefined, scope);
    let result: Awaited<ReturnType<typeof auth>>;
    try {
      result = await auth(this.#provider, {
        serverUrl: this.#server,
        fetchFn: this.#fetch,
        ...(metadataUrl !== undefined && { resourceMetadataUrl: metadataUrl }),
        ...(this.#scope !== undefined && { scope: this.#scope }),
        // A refresh cannot add scopes (RFC 6749, 6).
        forceReauthorization: wants === "scope",
      });
    } catch (cause) {
      throw authFailure(`Could not get a token for ${redacted(this.#server.href)}`, cause);
    }
    if (result === "AUTHORIZED") return true;
    throw new TaskClientError(
      "unauthorized",
      `${redacted(this.#server.href)} requires a login: the auth provider has the address to visit`,
    );
  }
}

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
  const issue = cause instanceof Error ? firstIssue(cause.message) : undefined;
  const why = issue === undefined ? describeCause(cause) : `an answer of the server is invalid: ${issue}`;
  const message = `${what}: ${shortened(why)}`;
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
