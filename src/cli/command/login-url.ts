import { UsageError } from "../errors.ts";
import type { FoundServer } from "../server/find-server.ts";

/** The URL of a server that supports logins. Throws a UsageError for a command. */
export function urlToLogInTo({ target, shown }: FoundServer): URL {
  if (typeof target === "string") return new URL(target);
  throw new UsageError(`${shown} is a command: it runs as you, and needs no login.`);
}
