import { createHash } from "node:crypto";
import canonicalize from "canonicalize";

/**
 * Tells the same request from another one: SHA-256 over the canonical JSON (RFC 8785) of what names it, so that the
 * order of an object's keys makes no difference.
 */
export function requestHash(...parts: readonly unknown[]): string {
  return createHash("sha256")
    .update(canonicalize(parts) ?? "")
    .digest("base64url");
}
