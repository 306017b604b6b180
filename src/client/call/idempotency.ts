import { base64url } from "../../generation/base64.ts";

/** A key that cannot be guessed: 144 random bits. */
export function makeIdempotencyKey(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(18)));
}

/**
 * Why a call that may have arrived is too old to be sent again; undefined if it is not. A server recognises a
 * repeated call only while it keeps the task, and would run it again after that.
 */
export function tooOldToRepeat(ageMs: number, recognisedMs: number): string | undefined {
  if (ageMs <= recognisedMs) return undefined;
  return (
    `The call was never answered, and it was sent ${ageMs} ms ago: ` +
    `the server recognises repeated calls for only ${recognisedMs} ms, and could run it twice`
  );
}
