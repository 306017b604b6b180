import { createHmac } from "node:crypto";

const prefix = "whsec_";

/** Whether a secret has the form of Standard Webhooks. */
export function isSecret(secret: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)) return false;
  const { length } = secretKey(secret);
  return length >= 24 && length <= 64;
}

/** The bytes of a secret. */
export function secretKey(secret: string): Uint8Array {
  return Buffer.from(secret.slice(prefix.length), "base64");
}

/** `webhook-signature`: each key's signature of the message, its id and the time of sending (s). */
export function signatures(
  keys: readonly Uint8Array[],
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
): string {
  const signed = `${id}.${timestamp}.${body}`;
  return keys.map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`).join(" ");
}
