import { commandVariables, prefix } from "../../options/command-variables.ts";
import type { Io } from "../io.ts";

/**
 * What a program of others that we start for the user, such as a server by its typed command line, gets of our own
 * variables: none, whatever their names, but those that the user passes by name. They are the keys, tokens and databases of
 * our own servers and commands. It gets all other variables, as from a shell.
 */
export function typedEnvironment(
  env: Io["env"],
  passed: readonly string[] = [],
): {
  readonly env: Record<string, string>;
  /** The names of those that it could have read, and does not get. */
  readonly withheld: readonly string[];
} {
  const isPassed = new Set(passed.map((name) => name.toUpperCase()));
  const isWithheld = (name: string): boolean => isOurVariable(name) && !isPassed.has(name.toUpperCase());
  const set = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return {
    env: Object.fromEntries(set.filter(([name]) => !isWithheld(name))),
    withheld: set
      .filter(([name, value]) => isWithheld(name) && value !== "" && !commandVariables.includes(name))
      .map(([name]) => name),
  };
}

/** Whether a variable is one of ours. Windows ignores the case of names. */
export function isOurVariable(name: string): boolean {
  return name.toUpperCase().startsWith(prefix);
}
