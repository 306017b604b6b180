import {
  errors,
  jwtVerify,
  type CryptoKey,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from "jose";
import { invalidToken, type AccessToken, type TokenVerifier } from "./access-token.ts";
import { accessTokenOf } from "./claims.ts";

/** Checks a token's signature and claims. */
export class JwtCheck implements TokenVerifier {
  readonly #keys: JWTVerifyGetKey<CryptoKey>;
  readonly #issuer: string;
  readonly #expected: () => JWTVerifyOptions;

  constructor(keys: JWTVerifyGetKey<CryptoKey>, issuer: string, expected: () => JWTVerifyOptions) {
    this.#keys = keys;
    this.#issuer = issuer;
    this.#expected = expected;
  }

  async verifyAccessToken(token: string): Promise<AccessToken> {
    try {
      return accessTokenOf(token, this.#issuer, await this.#claimsOf(token));
    } catch (error) {
      // jose's own error contains the claims, which must not be logged.
      if (error instanceof errors.JOSEError) throw invalidToken(reasonOf(error));
      throw error;
    }
  }

  async #claimsOf(token: string): Promise<JWTPayload> {
    const expected = this.#expected();
    try {
      return (await jwtVerify(token, this.#keys, expected)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // The token names no key: any of them may be the one.
      for await (const key of error) {
        const found = await jwtVerify(token, key, expected).catch(unlessSignedByAnother);
        if (found !== undefined) return found.payload;
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }
}

function unlessSignedByAnother(error: unknown): undefined {
  if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
}

/** Helps to set up the server and its client, and reveals nothing that is not in the token. */
function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return "The token has expired";
  if (error instanceof errors.JWTClaimValidationFailed) return `The claim ${error.claim} is not accepted`;
  return "The token is not valid";
}
