import { format } from "node:util";
import type { Io } from "../io.ts";
import { movesCursor } from "./in-foreground.ts";
import { sanitizeText } from "./text.ts";

/**
 * Redirects what libraries write to the console to stderr, because stdout is for results. Sanitizes it, because warnings can contain
 * names chosen by a server.
 */
export function redirectConsole({ stderr, env }: Pick<Io, "stderr" | "env">): void {
  const write = (...values: readonly unknown[]): void => {
    if (movesCursor(stderr, env)) stderr.write("\r\u001b[K"); // a live line redraws itself
    stderr.write(`${sanitizeText(format(...values))}\n`);
  };
  for (const method of ["debug", "error", "info", "log", "warn"] as const) console[method] = write;
}
