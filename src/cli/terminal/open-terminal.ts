import type { Io } from "../io.ts";
import { plainTerminal } from "./plain-terminal.ts";
import type { Terminal } from "./terminal.ts";

/** `quiet`: the output is for a program, and nothing is shown of what happens meanwhile. */
export async function openTerminal(io: Io, options: { readonly quiet: boolean }): Promise<Terminal> {
  return plainTerminal(io, options);
}
