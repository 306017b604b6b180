import type { Io } from "../io.ts";
import { isInForeground } from "./in-foreground.ts";

/** Whether a stream is a terminal that can move its cursor, in the foreground: no pipe, no `TERM=dumb`, and no `ACCESSIBLE`. */
export function movesCursor(stream: NodeJS.WriteStream, env: Io["env"]): boolean {
  return stream.isTTY && env["TERM"] !== "dumb" && (env["ACCESSIBLE"] ?? "") === "" && isInForeground();
}

/**
 * Whether the terminal's font has symbols such as ✔. The Linux console lacks them, as does the old Windows console, which, unlike other
 * terminals, does not identify itself.
 */
export function showsUnicode(env: Io["env"], platform = process.platform): boolean {
  if (platform !== "win32") return env["TERM"] !== "linux";
  return ["WT_SESSION", "TERM_PROGRAM", "ConEmuANSI", "TERM"].some((name) => (env[name] ?? "") !== "");
}
