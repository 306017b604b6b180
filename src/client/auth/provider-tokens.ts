import { auth, type FetchLike, type OAuthClientProvider } from "@modelcontextprotocol/client";
import { TaskClientError } from "../task-client-error.ts";
import { redacted } from "../transport/server-name.ts";
import { authFailure } from "./auth-failure.ts";
import { scopeUnion } from "./scopes.ts";
import type { Challenge, TokenSource } from "./token-source.ts";

/** The tokens of an SDK provider, used as the SDK's transport would use them. */
export class ProviderTokens implements TokenSource {
  readonly #provider: OAuthClientProvider;
  readonly #server: URL;
  readonly #fetch: FetchLike;
  readonly #renewing = new Map<Challenge["wants"], Promise<boolean>>();
  /** All scopes that the server has named. */
  #scope: string | undefined;

  constructor(provider: OAuthClientProvider, server: URL, fetchIt: FetchLike) {
    this.#provider = provider;
    this.#server = server;
    this.#fetch = fetchIt;
  }

  async token(): Promise<string | undefined> {
    return (await this.#provider.tokens())?.access_token;
  }

  async renew(refused: string | undefined, challenge: Challenge): Promise<boolean> {
    const { wants } = challenge;
    const renewing =
      this.#renewing.get(wants) ??
      this.#renew(refused, challenge).finally(() => this.#renewing.delete(wants));
    this.#renewing.set(wants, renewing);
    return renewing;
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
