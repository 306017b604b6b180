import type { Command } from "commander";
import { everything } from "./client-commands.ts";
import type { Example } from "./declare.ts";

const widest = 80;

/** The last cell stays free, since some terminals wrap there. */
function widthFor(columns: number | undefined): number {
  return Math.max(40, Math.min(columns ?? widest, widest)) - 1;
}

/** Gives the help of all commands its width. */
export function layOutHelp(program: Command, columns: number | undefined): void {
  const layOut = (command: Command): void => {
    command.configureHelp({
      ...command.configureHelp(),
      helpWidth: widthFor(columns),
      subcommandTerm: termOf,
    });
    for (const part of command.commands) layOut(part);
  };
  layOut(program);
  program.addHelpText("after", "\nholdfast help COMMAND shows a command's options, with examples.");
}

/** Longer terms leave no room for a description. */
const widestTerm = 33;

/** Leaves out options, which most commands have, and the store, which comes before the commands of `admin`. */
function termOf(command: Command): string {
  const isAdmins = command.parent?.name() === "admin";
  const words = command.registeredArguments
    .filter((argument) => !(isAdmins && argument.name() === "store"))
    .map((argument) => {
      const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
      return argument.required ? `<${name}>` : `[${name}]`;
    });
  const term = [command.name(), ...words].join(" ");
  if (term.length <= widestTerm) return term;
  const fitting = words.filter(
    (_, at) => [command.name(), ...words.slice(0, at + 1), "..."].join(" ").length <= widestTerm,
  );
  return [command.name(), ...fitting, "..."].join(" ");
}

/** The examples at the end of a command's help. */
export function exampleText(shown: readonly Example[]): string {
  return `\nExamples:\n${exampleLines(shown)}`;
}

function exampleLines(shown: readonly Example[]): string {
  return shown.map(([line, does]) => `  ${line}\n      ${does}`).join("\n");
}

/** The first commands to try, on the start page. */
export const firstCommands: readonly Example[] = [
  [`holdfast tools "${everything}"`, "lists a server's tools; npx starts this one"],
  [`holdfast call "${everything}" echo message=hi`, "calls a tool and prints its result"],
  ["holdfast ls", "lists your tasks and their status"],
];

/** Printed when the command gets no arguments. */
export const startPage = `Calls tools of any MCP server, and keeps their tasks until you have the result.

Three commands to try:

${firstCommands.map((example) => exampleLines([example])).join("\n\n")}

Instead of a quoted command, a server can also be a URL, such as
http://127.0.0.1:3000/mcp, or a name from .mcp.json.

Then:
  holdfast help             all commands
  holdfast help call        one command, with examples
  holdfast init my-server   a server of your own, whose tasks survive crashes
`;
