import type { Io } from "../io.ts";
import { isInForeground } from "./in-foreground.ts";
import { interactiveTerminal } from "./interactive-terminal.ts";
import { plainTerminal } from "./plain-terminal.ts";
import type { Terminal } from "./terminal.ts";

interface TerminalOptions {
  /** The output is for a program: nothing is shown of what happens meanwhile, nor asked. */
  readonly quiet: boolean;
  /** The server is a process of this command. */
  readonly ownsServer: boolean;
}

/**
 * The terminal that a command has. A line that is drawn again and again, and prompts, need one whose cursor can be
 * moved: not a pipe, not `TERM=dumb`, and not what `ACCESSIBLE` asks for. In the background the keys are the shell's.
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
