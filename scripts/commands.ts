// Makes docs/reference/commands.md and cli-json.md from the commands of the program: npm run docs:commands
import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { format, resolveConfig } from "prettier";
import { adminCommands } from "../src/cli/command/admin/operation-commands.ts";
import { allCommands } from "../src/cli/commands.ts";
import { Output } from "../src/cli/output/output.ts";
import { makeProgram } from "../src/cli/program.ts";
import { State } from "../src/cli/state/state.ts";

export const commandsUrl = new URL("../docs/reference/commands.md", import.meta.url);

/** The program with all of its commands, which runs none. */
export async function wholeProgram(): Promise<Command> {
  const { stdin, stdout, stderr } = process;
  const io = { stdin, stdout, stderr, env: {}, cwd: "/", now: () => 0 };
  const context = { io, output: new Output(io, false), state: new State(io) };
  return makeProgram(context, () => undefined, ["admin"]);
}

/** An argument or an option, and what it is for. */
interface Part {
  readonly term: string;
  readonly meaning: string;
}

/** What so many commands have is described once. */
const common = 5;

/** The page of all commands, with their arguments and options. */
export async function renderCommands(): Promise<string> {
  const program = await wholeProgram();
  const named = program.commands.flatMap((command) => withParts(command, [command.name()]));
  const times = new Map<string, number>();
  for (const { command } of named)
    for (const part of partsOf(command)) times.set(lineOf(part), (times.get(lineOf(part)) ?? 0) + 1);
  const isCommon = (part: Part): boolean => (times.get(lineOf(part)) ?? 0) >= common;
  const shared = [...times].filter(([, count]) => count >= common).map(([line]) => line);
  const sections = named.map(({ command, words }) => {
    const own = partsOf(command).filter((part) => !isCommon(part));
    const heading = `## ${words.join(" ")}`;
    const [first = "", ...rest] = words;
    // The store comes before the command that it is for.
    const typed =
      first === "admin" && rest.length > 0
        ? `admin <store> ${rest.join(" ")} ${command.usage().replace(" <store>", "")}`
        : `${words.join(" ")} ${command.usage()}`;
    const usage = `\`holdfast ${typed}\``;
    const lines = [heading, `${usage}: ${command.description()}.`, own.map(lineOf).join("\n")];
    return lines.filter((line) => line !== "").join("\n\n");
  });
  const page = `<!-- Made from the commands of src/cli by \`npm run docs:commands\`. Do not edit. -->

# Commands

All commands of \`holdfast\`, with their arguments and options. \`holdfast help COMMAND\` shows one with examples; [the command line](cli.md) says how they work together.

Many commands have these:

${shared.join("\n")}

${sections.join("\n\n")}
`;
  return format(page, { ...(await resolveConfig(commandsUrl)), parser: "markdown" });
}

export const jsonUrl = new URL("../docs/reference/cli-json.md", import.meta.url);

/** The page that says what `--json` prints: commands with the same document share a line. */
export async function renderJson(): Promise<string> {
  const admin = Object.entries(adminCommands).map(
    ([name, declared]) => [`admin … ${name}`, declared] as const,
  );
  const named = new Map<string, string[]>();
  for (const [name, { prints }] of [...allCommands, ...admin])
    if (prints !== undefined) named.set(prints, [...(named.get(prints) ?? []), name]);
  const rows = [...named].map(
    ([prints, names]) => `| ${names.map((name) => `\`${name}\``).join(", ")} | ${prints} |`,
  );
  const page = `<!-- Made from the commands of src/cli by \`npm run docs:commands\`. Do not edit. -->

# JSON of commands

With \`--json\` each command of the [command line](cli.md) prints one document on stdout; \`watch\` and \`logs\` print one per line. Fields may be added. Names such as \`TaskPage\` are types of \`holdfast\`, and schemas of the [admin endpoint](admin-api.md).

| command | document |
| --- | --- |
${rows.join("\n")}
| \`admin …\` with \`--all\` | \`{ action, dryRun, job, counts: { total, open, done, refused }, done, created, refused: [{ id, code, message }] }\`: at most 1,000 task ids in each list; for \`retry\`, \`created\` has the new ones; with \`error\` if it is not known how it went on |
| any that fails | \`{ error: { kind, message, id, rpc }, exitCode }\` |

- A task's \`status\` is \`working\`, \`input_required\`, \`completed\` (with \`result\`), \`failed\` (with \`error\`, the JSON-RPC error) or \`cancelled\`. For a call that was answered at once, \`id\` is \`null\`. \`questions\` are \`{ key, method, params }\`.
- \`ls\` has a \`status\` with \`--refresh\`, and for tasks whose outcome was printed, which have \`isOver\`: that of a task, or \`expired\`, \`unauthorized\`, \`unreachable\`, or \`lost\` if the server does not know the task with these credentials.
- With \`--save DIR\`, a task, and the document of \`read\` and \`prompt\`, has \`saved\`: the paths of the files.
- A tool's \`task\` is \`required\`, \`optional\` or \`forbidden\` in 2025-11-25, and \`unknown\` in 2026-07-28.
- \`file\` of \`servers\` is \`null\` for an open session. Tokens that \`logout\` has not \`revoked\` stay valid until they expire.
- Times of \`admin\` are epoch milliseconds. \`admin … retry\` prints the new task.
- \`admin … dump\`: \`tasks\` are all of the store, \`changed\` those in the file, \`withoutFiles\` those with files that are not in it. \`isClean\` is false if free space may still have what was replaced or deleted. \`acceptedUntil\` is \`null\` if the old secrets are deleted.
- \`works\` is \`null\` for what cannot be known. \`tasks\` of \`doctor\` is the generation, or \`null\`.
- An error's \`kind\` is \`usage\`, \`stopped\` (by Ctrl-C or \`--timeout\`), \`system\` (a full disk, for example), \`fault\`, or a code of \`TaskClientError\`.
`;
  return format(page, { ...(await resolveConfig(jsonUrl)), parser: "markdown" });
}

/** A command, or the commands below it if it only groups them. */
function withParts(
  command: Command,
  words: readonly string[],
): readonly { readonly command: Command; readonly words: readonly string[] }[] {
  const below = command.commands.flatMap((part) => withParts(part, [...words, part.name()]));
  const isGroup =
    below.length > 0 && command.registeredArguments.length === 0 && command.options.length === 0;
  return isGroup ? below : [{ command, words }, ...below];
}

function partsOf(command: Command): readonly Part[] {
  const given = command.registeredArguments.map((argument) => ({
    term: `${argument.required ? `<${argument.name()}>` : `[${argument.name()}]`}`,
    meaning: argument.description,
  }));
  const options = command.options
    .filter(({ hidden }) => !hidden)
    .map(({ flags, description, defaultValue }) => ({
      term: flags,
      meaning:
        defaultValue === undefined || description.includes("default")
          ? description
          : `${description} (default: ${String(defaultValue)})`,
    }));
  return [...given, ...options];
}

function lineOf({ term, meaning }: Part): string {
  return `- \`${term}\`: ${meaning}`;
}

// Not when a test imports this.
if (import.meta.main) {
  await writeFile(commandsUrl, await renderCommands());
  await writeFile(jsonUrl, await renderJson());
}
