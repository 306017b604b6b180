import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { candidates, wordsOf } from "../completion/candidates.ts";
import { scripts, type Shell } from "../completion/scripts.ts";
import type { Context } from "../context.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { readFolderConfigs, readUsersConfig } from "../server/host-config.ts";

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
  context: Context,
  [shell, line = ""]: readonly string[],
): Promise<ExitCode> {
  const found = await completed(program, context, line);
  // Servers choose the names, so escape what a shell would run. Fish escapes them itself.
  const words = shell === "fish" ? found : found.map((word) => word.replaceAll(/[^\w@%+=:,./-]/gu, "\\$&"));
  await context.output.print(words.map((word) => `${word}\n`).join(""));
  return found.length > 0 ? exitCodes.done : exitCodes.errorResult;
}

/** The completions of the last word of a line. */
export async function completed(
  program: Command,
  { io, state }: Context,
  line: string,
): Promise<readonly string[]> {
  const inFolder = async (): Promise<readonly string[]> => {
    const configs = await readFolderConfigs(io.cwd).catch(() => []);
    return configs.flatMap(({ servers }) => [...servers.keys()]);
  };
  const known = {
    servers: async () => {
      const named = io.env["HOLDFAST_CONFIG"];
      const users = await readUsersConfig(named, io).catch(() => undefined);
      const folders = named === undefined || named === "" ? await inFolder() : [];
      return [...(users?.servers.keys() ?? []), ...folders, ...(await state.serversGiven())];
    },
    inFolder,
    sessions: async () => (await state.sessions.list()).map(({ name }) => name),
    tools: async (server: string | undefined) => {
      const session = server === undefined ? undefined : await state.sessions.find(server);
      return state.toolsOf(session?.server.spec.given ?? server);
    },
    files: async (start: string) => {
      const folder = start.slice(0, start.lastIndexOf("/") + 1);
      const entries = await readdir(resolve(io.cwd, folder), { withFileTypes: true }).catch(() => []);
      return entries.map((entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`);
    },
    tasks: async () => (await state.list()).tasks.map(({ id }) => id),
  };
  return candidates(program, wordsOf(line), known);
}
