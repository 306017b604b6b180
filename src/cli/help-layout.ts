import { Help, type Command } from "commander";
import { examples, firstCommands, type Example } from "./help-examples.ts";

/** Commands in the order of the help, under their headings. Unlisted ones come last. */
const groups: readonly (readonly [string, readonly string[]])[] = [
  [
    "Tools:",
    [
      "tools",
      "call",
      "search",
      "open",
      "shell",
      "close",
      "servers",
      "trust",
      "login",
      "logout",
      "doctor",
      "ping",
    ],
  ],
  ["Tasks:", ["ls", "result", "watch", "get", "logs", "answer", "cancel", "forget"]],
  ["Resources and prompts:", ["resources", "read", "prompts", "prompt", "complete"]],
  [
    "Servers of your own:",
    ["init", "serve", "replay", "dashboard", "admin", "inbox", "journal", "check", "migrate"],
  ],
];

const widest = 80;

/** The last cell stays free, since some terminals wrap there. */
function widthFor(columns: number | undefined): number {
  return Math.max(40, Math.min(columns ?? widest, widest)) - 1;
}

/** Gives the help of all commands its width, order and examples. */
export function layOutHelp(program: Command, columns: number | undefined): void {
  for (const [heading, names] of groups)
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);
  const order = groups.flatMap(([, names]) => names);
  const placeOf = (command: Command): number => {
    const at = order.indexOf(command.name());
    return at === -1 ? order.length : at;
  };
  const layOut = (command: Command, path: readonly string[]): void => {
    command.configureHelp({
      ...command.configureHelp(),
      helpWidth: widthFor(columns),
      subcommandTerm: termOf,
      ...(command === program && {
        visibleCommands: (of: Command) =>
          new Help().visibleCommands(of).toSorted((one, other) => placeOf(one) - placeOf(other)),
      }),
    });
    const shown = examples[path.join(" ")];
    if (shown !== undefined) command.addHelpText("after", `\nExamples:\n${exampleLines(shown)}`);
    for (const part of command.commands) layOut(part, [...path, part.name()]);
  };
  layOut(program, []);
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

function exampleLines(shown: readonly Example[]): string {
  return shown.map(({ line, does }) => `  ${line}\n      ${does}`).join("\n");
}

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
