/** Why a server refused a request, by its `WWW-Authenticate`. */
export interface Challenge {
  /** `token`: it wants a token, or another one (401). `scope`: the token lacks scopes (403). */
  readonly wants: "token" | "scope";
  /** The scopes that it names. */
  readonly scope: string | undefined;
  /** Where its protected resource metadata (RFC 9728) is. */
  readonly metadataUrl: URL | undefined;
}

/** Where the access tokens of a connection come from. */
export interface TokenSource {
  /** The token to send; undefined to send none. */
  token(): Promise<string | undefined>;
  /**
   * Gets another token than `refused`, once for all requests that were refused at the same time. Resolves with false if
   * there is none to get; rejects with a TaskClientError if it cannot be had now (`connection`) or without the user
   * (`unauthorized`).
   */
  renew(refused: string | undefined, challenge: Challenge): Promise<boolean>;
}
