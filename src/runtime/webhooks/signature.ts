import { createHmac } from "node:crypto";
import { HoldfastError } from "../../task/fault.ts";

/** The bytes of a secret in the form of Standard Webhooks. Throws `configuration` for another form, without showing the secret. */
export function secretKey(what: string, secret: unknown): Uint8Array {
  const [, encoded = ""] =
    typeof secret === "string" ? (/^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? []) : [];
  const key = Buffer.from(encoded, "base64");
  if (key.length >= 24 && key.length <= 64) return key;
  throw new HoldfastError(
    "configuration",
    `A secret of ${what} has to be whsec_ with 24 to 64 bytes in base64 behind it: "whsec_" + randomBytes(32).toString("base64").`,
  );
}

/** `webhook-signature`: each key's signature of the message, its id and the time of sending (s). */
export function signatures(
  keys: readonly Uint8Array[],
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
): string {
  const signed = `${id}.${timestamp}.${body}`;
  return keys.map((key) => `v1,${createHmac("sha256", key).update(signed).digest("base64")}`).join(" ");
}
