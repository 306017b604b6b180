import type { Stream } from "node:stream";

/** A server to start as a process. It speaks over its stdin and stdout. */
export interface ServerProcess {
  /** Started without a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few variables that the SDK passes on, such as PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Where its stderr goes. A function is called with each piece of text. Default `"inherit"`: this process's stderr. */
  readonly stderr?: "inherit" | "ignore" | Stream | number | ((text: string) => void);
}

/**
 * The variables of the process: the given ones and the `defaults`. Windows does not distinguish `Path` from `PATH`, and would use the
 * spelling that sorts first, even if that is the default.
 */
export function environmentOf(
  given: Readonly<Record<string, string>>,
  defaults: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const nameOf = (name: string): string => (platform === "win32" ? name.toUpperCase() : name);
  const named = new Set(Object.keys(given).map(nameOf));
  const others = Object.entries(defaults).filter(([name]) => !named.has(nameOf(name)));
  return { ...Object.fromEntries(others), ...given };
}
