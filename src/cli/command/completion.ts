import type { Command } from "commander";
import { candidates, wordsOf } from "../completion/candidates.ts";
import { scripts, type Shell } from "../completion/scripts.ts";
import type { Context } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { readHostConfig } from "../server/host-config.ts";

/** `holdfast completion SHELL`: prints the script for the shell to run. */
export async function completion(
  { output }: Context,
  { shell }: { readonly shell: Shell },
): Promise<ExitCode> {
  await output.print(scripts[shell]);
  return exitCodes.done;
}

/**
 * Prints the completions of the word before the cursor, one per line: commands, options, and known servers, tools and tasks. Sends no
 * request. The exit code is 1 if there are none.
 */
export async function completeWords(
  program: Command,
  { io, state, output }: Context,
  [shell, line = ""]: readonly string[],
): Promise<ExitCode> {
  const known = {
    servers: async () => {
      const config = await readHostConfig(undefined, io).catch(() => undefined);
      return [...(config?.servers.keys() ?? []), ...(await state.serversGiven())];
    },
    tools: async (server: string | undefined) => state.toolsOf(server),
    tasks: async () => (await state.list()).tasks.map(({ id }) => id),
  };
  const found = await candidates(program, wordsOf(line), known);
  // Servers choose the names, so escape what a shell would run. Fish escapes them itself.
  const words = shell === "fish" ? found : found.map((word) => word.replaceAll(/[^\w@%+=:,./-]/gu, "\\$&"));
  await output.print(words.map((word) => `${word}\n`).join(""));
  return found.length > 0 ? exitCodes.done : exitCodes.errorResult;
}
