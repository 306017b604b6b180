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
