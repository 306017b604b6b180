import type { Io } from "../io.ts";
import { isInForeground } from "./in-foreground.ts";
import { interactiveTerminal } from "./interactive-terminal.ts";
import { plainTerminal } from "./plain-terminal.ts";
import type { Terminal } from "./terminal.ts";

interface TerminalOptions {
  /** The output is for a program: shows no progress and asks no questions. */
  readonly quiet: boolean;
  /** The server is a process of this command. */
  readonly ownsServer: boolean;
}

/**
 * Opens the terminal of a command. The live line and prompts need a terminal that can move its cursor, in the
 * foreground: no pipe, no `TERM=dumb`, and no `ACCESSIBLE`.
 */
export async function openTerminal(io: Io, options: TerminalOptions): Promise<Terminal> {
  const { stdin, stderr, env } = io;
  const moves =
    stderr.isTTY && env["TERM"] !== "dumb" && (env["ACCESSIBLE"] ?? "") === "" && isInForeground();
  if (options.quiet || !moves) return plainTerminal(io, options);
  return interactiveTerminal(io, {
    asks: stdin.isTTY && !stdin.readableEnded,
    ownsServer: options.ownsServer,
  });
}
