import type { Stream } from "node:stream";

/** A server to start, that speaks over its stdin and stdout. */
export interface ServerProcess {
  /** Started without a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few variables that the SDK passes on by itself, such as PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Where its logs go; a function takes them as they come. Default `"inherit"`: to this process's stderr. */
  readonly stderr?: "inherit" | "ignore" | Stream | number | ((text: string) => void);
}

/** The same for each start of the same command line. */
export function processName({ command, args = [] }: ServerProcess): string {
  return `stdio:${[command, ...args].map(encodeURIComponent).join("+")}`;
}
