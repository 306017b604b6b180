import { format } from "node:util";
import type { Io } from "../io.ts";
import { movesCursor } from "./moves-cursor.ts";
import { sanitizeText } from "./sanitize.ts";

/**
 * Sends what libraries write to the console to stderr, since stdout is for results, and sanitized: what they warn of can
 * have names in it that a server has chosen.
 */
export function redirectConsole({ stderr, env }: Pick<Io, "stderr" | "env">): void {
  const write = (...said: readonly unknown[]): void => {
    if (movesCursor(stderr, env)) stderr.write("\r\u001b[K"); // a live line is drawn again by itself
    stderr.write(`${sanitizeText(format(...said))}\n`);
  };
  for (const method of ["debug", "error", "info", "log", "warn"] as const) console[method] = write;
}
