import type { Argument, Command } from "commander";
import { split } from "shlex";
import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { moveSessionBehind } from "../arguments/rewrite-argv.ts";
import { scripts } from "../completion/scripts.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import { readFolderConfigs, readUsersConfig } from "../server/host-config.ts";

/** What is known without asking a server. */
export interface KnownWords {
  servers(): Promise<readonly string[]>;
  /** The names of open sessions. */
  sessions(): Promise<readonly string[]>;
  /** The names in the working directory's file. */
  inFolder(): Promise<readonly string[]>;
  /** The tools of all servers, if that server is unknown. */
  tools(server: string | undefined): Promise<readonly string[]>;
  tasks(): Promise<readonly string[]>;
  /** The files that a path could be completed to; folders end with a slash. */
  files(start: string): Promise<readonly string[]>;
}

/** The words before the cursor, without the program's name. The last one is being typed, and may be empty. */
export function wordsOf(line: string): readonly string[] {
  const words = ["", "'", '"'].map((end) => trySplitWords(line + end)).find((found) => found !== undefined);
  const isNext = /\s$/.test(line) && !/\\\s$/.test(line);
  const typed = words?.slice(1) ?? [];
  return isNext || typed.length === 0 ? [...typed, ""] : typed;
}

function trySplitWords(line: string): readonly string[] | undefined {
  try {
    return split(line);
  } catch {
    return undefined;
  }
}

/** The possible completions of the last word. */
export async function candidates(
  program: Command,
  words: readonly string[],
  known: KnownWords,
): Promise<readonly string[]> {
  const typed = words.at(-1) ?? "";
  const found = await wordsFor(program, words.slice(0, -1), typed, known);
  // A name with a control character, or one that looks like an option, cannot go on a command line.
  const isSafe = (word: string): boolean =>
    !/\p{Cc}/u.test(word) && (typed.startsWith("-") || !word.startsWith("-"));
  return [...new Set(found)].filter((word) => word.startsWith(typed) && word !== "" && isSafe(word));
}

async function wordsFor(
  program: Command,
  before: readonly string[],
  typed: string,
  known: KnownWords,
): Promise<readonly string[]> {
  // A server's own command line follows.
  if (before.includes("--")) return [];
  const isSessionAlone = before.length === 1 && before[0]?.startsWith("@") === true;
  const { command, given } = commandOf(program, isSessionAlone ? [] : moveSessionBehind(before));
  const last = before.at(-1);
  if (last !== undefined && takesValue(command, last)) return last === "--server" ? known.servers() : [];
  if (typed.startsWith("-")) return optionsOf(command, program);
  if (command === program) {
    const isHelp = given[0] === "help" && given.length === 1;
    if (typed.startsWith("@") && !isSessionAlone) return known.sessions();
    return given.length === 0 || isHelp ? namesOf(program) : [];
  }
  if (command.commands.length > 0 && (command.name() !== "admin" || given.length === 1))
    return namesOf(command);
  const { pair, path } = /^(?<pair>[^=@]+:?=@)(?<path>[^@].*)?$/s.exec(typed)?.groups ?? {};
  if (pair !== undefined) return (await known.files(path ?? "")).map((file) => `${pair}${file}`);
  const argument = command.registeredArguments[given.length] ?? lastVariadic(command);
  switch (argument?.name()) {
    case "server":
      return [...(await known.servers()), ...(await known.sessions())];
    case "session":
      return known.sessions();
    case "name":
      return command.name() === "trust" ? known.inFolder() : [];
    case "tool":
      return command.parent === program ? known.tools(given[0]) : [];
    case "id":
      return command.parent === program ? ["last", ...(await known.tasks())] : [];
    default:
      return argument?.argChoices ?? [];
  }
}

/** The command that the words name, and its arguments so far. */
function commandOf(
  program: Command,
  words: readonly string[],
): { readonly command: Command; readonly given: readonly string[] } {
  let command = program;
  let given: string[] = [];
  for (const [at, word] of words.entries()) {
    if (word.startsWith("-") || takesValue(command, words[at - 1] ?? "")) continue;
    const part = command.commands.find((each) => each.name() === word);
    // The commands of `admin` come after the store, which is their first argument.
    if (part !== undefined && (command.name() !== "admin" || given.length > 0)) {
      given = command.name() === "admin" ? given : [];
      command = part;
    } else given.push(word);
  }
  return { command, given };
}

function takesValue(command: Command, word: string): boolean {
  const option = command.options.find(({ long, short }) => word === long || word === short);
  return option !== undefined && option.required;
}

function optionsOf(command: Command, program: Command): readonly string[] {
  const own = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? "");
  return [...own, "--help"].filter((name) => command === program || name !== "--version");
}

function namesOf(command: Command): readonly string[] {
  const names = command.commands.map((part) => part.name());
  return command.parent === null ? [...names, "help"] : names;
}

function lastVariadic({ registeredArguments }: Command): Argument | undefined {
  const last = registeredArguments.at(-1);
  return last?.variadic === true ? last : undefined;
}

/** `holdfast completion SHELL`: prints the script for the shell to run. */
export async function completion({ output }: Context, { shell }: Given<"completion">): Promise<ExitCode> {
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
