import type { Command } from "commander";
import { join } from "shlex";
import { allCommands } from "../commands.ts";
import { commandPrefix } from "../server/find-server.ts";

/** Protects an id that begins with a dash. No argument can contain it. */
const mark = "\0";

/** The commands whose first argument is this one. */
function beginningWith(name: string): ReadonlySet<string | undefined> {
  const found = allCommands.filter(([words, { args }]) => {
    const first = args?.[0]?.[0] ?? "";
    return !words.includes(" ") && first.replaceAll(/\W/g, "") === name;
  });
  return new Set(found.map(([words]) => words));
}

const aboutTask = beginningWith("id");

/** The others have the option `--server`. */
const serverFirst = beginningWith("server");

/** Marks a task id that begins with a dash, so that it is not parsed as an option: servers choose ids at random. */
export function protectId(argv: readonly string[]): readonly string[] {
  const [command, id, ...rest] = argv;
  if (command === undefined || id === undefined || !aboutTask.has(command)) return argv;
  // Not for options such as `-h` and `--json`.
  return /^-[^-]./s.test(id) ? [command, `${mark}${id}`, ...rest] : argv;
}

/** An argument as it was typed. */
function restored(argument: unknown): unknown {
  if (Array.isArray(argument)) return argument.map(restored);
  return typeof argument === "string" && argument.startsWith(mark) ? argument.slice(mark.length) : argument;
}

/** What the code of a command gets (`GivenTo`), of what its action is called with. */
export function givenTo(command: Command, given: readonly unknown[]): object {
  const named = command.registeredArguments.map(
    (argument, at) => [argument.name(), restored(given[at])] as const,
  );
  return { ...Object.fromEntries(named), options: command.optsWithGlobals() };
}

/** Moves the name of a session, as in `@page call open url=…`, to the place of SERVER. Alone it asks for a prompt. */
export function moveSessionBehind(argv: readonly string[]): readonly string[] {
  const [session, command, ...rest] = argv;
  if (session === undefined || !session.startsWith("@")) return argv;
  if (command === undefined) return ["shell", session];
  if (command.startsWith("-") && command !== "--") return ["shell", session, command, ...rest];
  const isFirst = serverFirst.has(command) || command === "close";
  return isFirst ? [command, session, ...rest] : [command, ...rest, "--server", session];
}

/** Whether the output is JSON. Words after `--` are for the server. */
export function wantsJson(argv: readonly string[]): boolean {
  const [at, end] = [argv.indexOf("--json"), argv.indexOf("--")];
  return at !== -1 && (end === -1 || at < end);
}

/** Moves the server's command line, which follows `--`, to the place of SERVER. */
export function moveServerFirst(argv: readonly string[]): readonly string[] {
  const at = argv.indexOf("--");
  if (at === -1 || at === argv.length - 1 || argv[0] === "admin") return argv;
  const server = `${commandPrefix}${join(argv.slice(at + 1))}`;
  const [command = "", ...rest] = argv.slice(0, at);
  if (command === "serve") return [command, ...rest, "--program", join(argv.slice(at + 1))];
  if (command === "servers") return [command, ...rest, server]; // servers add NAME SERVER
  return serverFirst.has(command) ? [command, server, ...rest] : [command, ...rest, "--server", server];
}

/** Moves the command of `admin STORE COMMAND` before the store, where the parser looks for it. */
export function moveActionFirst(argv: readonly string[], actions: ReadonlySet<string>): readonly string[] {
  const [command, store, ...rest] = argv;
  if (command !== "admin" || store === undefined || actions.has(store) || store.startsWith("-")) return argv;
  const at = rest.findIndex((word) => actions.has(word));
  const action = rest[at];
  if (action === undefined) return argv;
  return [command, action, store, ...rest.slice(0, at), ...rest.slice(at + 1)];
}
