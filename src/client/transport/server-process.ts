import type { Stream } from "node:stream";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

/** A server to start, that speaks over its stdin and stdout. */
export interface ServerProcess {
  /** Started without a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the few variables that the SDK passes on by itself, such as PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Where its logs go. Default `"inherit"`: to this process's stderr. */
  readonly stderr?: "inherit" | "ignore" | Stream | number;
}

/** Results come in one line, which may be as long as the server's limits let it: this only stops one without end. */
const longestLine = 256 * 2 ** 20;

export function processTransport({ command, args, env, cwd, stderr }: ServerProcess): StdioClientTransport {
  return new StdioClientTransport({
    command,
    maxBufferSize: longestLine,
    ...(args !== undefined && { args: [...args] }),
    ...(env !== undefined && { env: { ...env } }),
    ...(cwd !== undefined && { cwd }),
    ...(stderr !== undefined && { stderr }),
  });
}

/** The same for each start of the same command line. */
export function processName({ command, args = [] }: ServerProcess): string {
  return `stdio:${[command, ...args].map(encodeURIComponent).join("+")}`;
}
