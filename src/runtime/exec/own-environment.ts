/** What a program gets of the server's own environment, and where the server keeps the files of programs unless it is told. */

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The variables of these names that are set. */
export function ownVariables(names: readonly string[]): Record<string, string> {
  const set = names.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(set.filter((each): each is readonly [string, string] => each[1] !== undefined));
}

export function usualExecFolder(): string {
  const { XDG_STATE_HOME = "" } = process.env;
  const state = isAbsolute(XDG_STATE_HOME) ? XDG_STATE_HOME : join(homedir(), ".local", "state");
  return join(state, "holdfast", "exec");
}
