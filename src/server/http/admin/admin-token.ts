import { createHash, timingSafeEqual } from "node:crypto";
import { HoldfastError } from "../../../task/fault.ts";
import type { AuthenticateOperator, Operator } from "../operator-options.ts";

/**
 * Authenticates one operator by a bearer token, compared in constant time. Use a random token: `openssl rand -hex 32`. Throws
 * `configuration` for a token that does not fit in a header.
 *
 * ```ts
 * createAdminHandler(tasks, { authenticate: adminToken(process.env.ADMIN_TOKEN, "on-call") });
 * ```
 */
export function adminToken(
  token: string | undefined,
  operator: string | Operator = "operator",
): AuthenticateOperator {
  // An unset variable must not let everybody in who sends nothing.
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    const message =
      "adminToken needs a token of visible ASCII characters, such as the output of openssl rand -hex 32.";
    throw new HoldfastError("configuration", message);
  }
  const expected = digest(token);
  const known = typeof operator === "string" ? { actor: operator } : operator;
  return async ({ headers }) => {
    const [, given] = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
    if (given === undefined) return undefined;
    return timingSafeEqual(digest(given), expected) ? known : undefined;
  };
}

/** Digests have equal length, as the comparison requires. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
