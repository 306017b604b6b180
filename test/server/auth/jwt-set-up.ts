import type { JwtVerifierOptions, TokenVerifier } from "holdfast/auth";
import { jwtVerifierBy } from "../../../src/server/auth/jwt-verifier.ts";
import { audience, AuthorizationServer, keyPair } from "./authorization-server.ts";

/** A verifier of the tokens of `server`, by its clock. */
export function verifierFor(
  server: AuthorizationServer,
  options: Partial<JwtVerifierOptions> = {},
): TokenVerifier {
  const { clock, issuer, jwks } = server;
  return jwtVerifierBy(clock, { issuer, audience, jwks, ...options });
}

/** A server with one key, and what verifies its tokens. */
export async function setUp(options: Partial<JwtVerifierOptions> = {}): Promise<{
  server: AuthorizationServer;
  verify: (token: string) => Promise<unknown>;
}> {
  const server = await AuthorizationServer.start(await keyPair("ES256", "one"));
  const verifier = verifierFor(server, options);
  return { server, verify: (token) => verifier.verifyAccessToken(token) };
}
