import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Io } from "../io.ts";

/**
 * Whether this process may read keys from its terminal: the system stops a background process that tries (`&`, or `bg` after Ctrl-Z).
 * True if unknown.
 */
export function isInForeground(): boolean {
  if (process.platform === "win32") return true;
  try {
    const { own, foreground } = process.platform === "linux" ? groupsOfLinux() : groupsByPs();
    return !(foreground > 0) || foreground === own;
  } catch {
    return true;
  }
}

interface ProcessGroups {
  readonly own: number;
  /** The process group that owns the terminal. */
  readonly foreground: number;
}

function groupsOfLinux(): ProcessGroups {
  const stat = readFileSync("/proc/self/stat", "utf8");
  // The program's name before the last `)` can contain anything.
  const [, , own, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { own: Number(own), foreground: Number(foreground) };
}

function groupsByPs(): ProcessGroups {
  const [own, foreground] = execFileSync("ps", ["-o", "pgid=", "-o", "tpgid=", "-p", String(process.pid)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  })
    .trim()
    .split(/\s+/);
  return { own: Number(own), foreground: Number(foreground) };
}

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
