import { HoldfastError } from "../../task/fault.ts";

/**
 * The signature algorithms that you can allow. All use a key pair. Never `none`, and never `HS256` or similar: with those, anyone who can
 * verify can also sign, and a public key could be passed off as the secret.
 */
export const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** A signature algorithm of JWTs that a verifier may allow. */
export type Algorithm = (typeof algorithms)[number];

/** Throws `configuration` for an algorithm that is not allowed; JavaScript does not check names. */
export function assertAlgorithms(allowed: readonly string[]): void {
  const known: readonly string[] = algorithms;
  const bad = allowed.find((name) => !known.includes(name));
  if (bad !== undefined) {
    const message = `algorithms must not contain ${bad}: allow some of ${known.join(", ")}.`;
    throw new HoldfastError("configuration", message);
  }
  if (allowed.length === 0) throw new HoldfastError("configuration", "algorithms must not be empty.");
}
