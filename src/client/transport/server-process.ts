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
  /** Where its logs go; a function takes them as they come. Default `"inherit"`: to this process's stderr. */
  readonly stderr?: "inherit" | "ignore" | Stream | number | ((text: string) => void);
}

/** Results come in one line, which may be as long as the server's limits let it: this only stops one without end. */
const longestLine = 256 * 2 ** 20;

export function processTransport({ command, args, env, cwd, stderr }: ServerProcess): StdioClientTransport {
  const transport = new StdioClientTransport({
    command,
    maxBufferSize: longestLine,
    ...(args !== undefined && { args: [...args] }),
    ...(env !== undefined && { env: { ...env } }),
    ...(cwd !== undefined && { cwd }),
    ...(stderr !== undefined && { stderr: typeof stderr === "function" ? "pipe" : stderr }),
  });
  if (typeof stderr === "function") {
    const decoder = new TextDecoder();
    transport.stderr?.on("data", (bytes: Uint8Array) => stderr(decoder.decode(bytes, { stream: true })));
  }
  return transport;
}

/** The same for each start of the same command line. */
export function processName({ command, args = [] }: ServerProcess): string {
  return `stdio:${[command, ...args].map(encodeURIComponent).join("+")}`;
}
