import { OAuthError, OAuthErrorCode, type AuthInfo } from "@modelcontextprotocol/server";

/**
 * An access token that was found good. The author's own tools get it as `authInfo`, with all that it says in `extra`.
 */
export interface AccessToken extends AuthInfo {
  /** The authorization server it comes from. */
  readonly issuer: string;
  /** Whom it stands for, unique at that issuer: a user, or a client that acts by itself. */
  readonly subject: string | undefined;
}

/**
 * Judges access tokens: by `jwtVerifier`, by `introspectionVerifier`, or by an object of your own, which answers for the
 * issuer, the audience and the expiry. It is an `OAuthTokenVerifier` of the SDK, too.
 */
export interface TokenVerifier {
  /**
   * Resolves for a good token. Rejects with an `OAuthError` of the SDK: `invalid_token` refuses the request with 401,
   * `temporarily_unavailable` with 503, as then nobody knows; whatever else it rejects with is answered with 500.
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

export function isUnavailable(error: unknown): boolean {
  return error instanceof OAuthError && error.code === OAuthErrorCode.TemporarilyUnavailable;
}
