import type { Io } from "../io.ts";
import { interactiveTerminal } from "./interactive-terminal.ts";
import { movesCursor } from "./moves-cursor.ts";
import { plainTerminal } from "./plain-terminal.ts";
import type { Terminal } from "./terminal.ts";

interface TerminalOptions {
  /** The output is for a program: shows no progress and asks no questions. */
  readonly quiet: boolean;
  /** The server is a process of this command. */
  readonly ownsServer: boolean;
}

/** Opens the terminal of a command. The live line and prompts need one that can move its cursor. */
export async function openTerminal(io: Io, options: TerminalOptions): Promise<Terminal> {
  const { stdin, stderr, env } = io;
  if (options.quiet || !movesCursor(stderr, env)) return plainTerminal(io, options);
  return interactiveTerminal(io, {
    asks: stdin.isTTY && !stdin.readableEnded,
    ownsServer: options.ownsServer,
  });
}
