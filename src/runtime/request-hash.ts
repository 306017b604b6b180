import { hash } from "node:crypto";

/**
 * Tells the same request from another one: SHA-256 over the canonical JSON (RFC 8785) of what names it, so that the
 * order of an object's keys makes no difference. Where the RFC refuses half a surrogate pair, it is escaped
 * here: a request that JSON can carry has a hash.
 */
export function requestHash(...parts: readonly unknown[]): string {
  return hash("sha256", canonical(parts), "base64url");
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
