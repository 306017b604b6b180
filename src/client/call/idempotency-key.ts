/** A name for one call that nobody can guess: 144 random bits. */
export function makeIdempotencyKey(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(18))).toString("base64url");
}
