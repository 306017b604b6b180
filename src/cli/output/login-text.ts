import { canRenew } from "../../client/auth/tokens.ts";
import type { Login } from "../../client/auth/login.ts";
import { timeText } from "./times.ts";

/** How long a login lasts, as far as it is known. */
export function howLong(login: Login, now: number): string {
  const { expiresAt } = login;
  if (canRenew(login)) return "renewed automatically";
  if (expiresAt === undefined) return "until its token expires";
  return expiresAt <= now ? `expired at ${timeText(expiresAt)}` : `until ${timeText(expiresAt)}`;
}
