import { createHmac, hash } from "node:crypto";

/**
 * Identifies equal requests: SHA-256 over the canonical JSON (RFC 8785) of what names the request, so that the order of an object's keys
 * does not matter. The RFC refuses half a surrogate pair; here it is escaped, so that every request that JSON can carry has a hash.
 */
export function requestHash(...parts: readonly unknown[]): string {
  return hash("sha256", canonical(parts), "base64url");
}

/**
 * The same for a hash that a store searches by, which it cannot encrypt: without the key, readers of the store could find out by trial which
 * arguments have it (HMAC-SHA-256).
 */
export function keyedHash(key: Uint8Array, ...parts: readonly unknown[]): string {
  return createHmac("sha256", key).update(canonical(parts)).digest("base64url");
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1)) // by UTF-16 code units, as the RFC has it
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
  return `{${members.join(",")}}`;
}
