import { OAuthError, OAuthErrorCode, type AuthInfo } from "@modelcontextprotocol/server";

/**
 * A verified access token. The author's own tools get it as `authInfo`, with all its claims in `extra`.
 */
export interface AccessToken extends AuthInfo {
  /** The authorization server that issued it. */
  readonly issuer: string;
  /** The user or client that it represents, unique at that issuer. */
  readonly subject: string | undefined;
}

/**
 * Verifies access tokens: `jwtVerifier`, `introspectionVerifier`, or an object of your own that checks issuer, audience and
 * expiry. It is an `OAuthTokenVerifier` of the SDK too.
 */
export interface TokenVerifier {
  /**
   * Resolves for a valid token. Rejects with an `OAuthError` of the SDK: `invalid_token` refuses the request with 401,
   * `temporarily_unavailable` with 503. Any other rejection is answered with 500.
   */
  verifyAccessToken(token: string): Promise<AccessToken>;
}

/** The rejection of a token; the caller reads the message. */
export function invalidToken(message: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidToken, message);
}

/** The rejection where the authorization server does not say whether a token is good; the caller reads nothing of it. */
export function unavailable(message: string, cause?: unknown): OAuthError {
  const error = new OAuthError(OAuthErrorCode.TemporarilyUnavailable, message);
  return cause === undefined ? error : Object.assign(error, { cause });
}

/** The same where nothing is out of order, and whoever sends tokens could fill the operator's log with it. */
export function undecided(message: string): OAuthError {
  return Object.assign(unavailable(message), { undecided: true });
}

export function isUndecided(error: unknown): boolean {
  return error instanceof OAuthError && "undecided" in error;
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof OAuthError && error.code === OAuthErrorCode.TemporarilyUnavailable;
}
