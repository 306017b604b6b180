import { OAuthError, OAuthErrorCode, type AuthInfo } from "@modelcontextprotocol/server";

/** A verified access token. Your own tools get it as `authInfo`, with all its claims in `extra`. */
export interface AccessToken extends AuthInfo {
  /** The authorization server that issued it. */
  readonly issuer: string;
  /** The user or client that it represents, unique at that issuer. */
  readonly subject: string | undefined;
}

/**
 * Verifies access tokens: `jwtVerifier`, `introspectionVerifier`, or your own object that checks issuer, audience and expiry. It is also an
 * `OAuthTokenVerifier` of the SDK.
 */
export interface TokenVerifier {
  /**
   * Resolves for a valid token. Rejects with an `OAuthError` of the SDK: `invalid_token` refuses the request with 401,
   * `temporarily_unavailable` with 503. Any other rejection is answered with 500.
   */
  verifyAccessToken(token: string): Promise<AccessToken>;
}

/** The rejection of a token. The caller sees the message. */
export function invalidToken(message: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidToken, message);
}

/** The rejection if the authorization server cannot be asked about a token. The caller does not see the message. */
export function unavailable(message: string, cause?: unknown): OAuthError {
  const error = new OAuthError(OAuthErrorCode.TemporarilyUnavailable, message);
  return cause === undefined ? error : Object.assign(error, { cause });
}

/** The same if nothing is wrong with the server, and callers could otherwise fill the operator's log with such errors. */
export function undecided(message: string): OAuthError {
  return Object.assign(unavailable(message), { undecided: true });
}

export function isUndecided(error: unknown): boolean {
  return error instanceof OAuthError && "undecided" in error;
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof OAuthError && error.code === OAuthErrorCode.TemporarilyUnavailable;
}
