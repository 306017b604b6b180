import { Command } from "commander";
import { packageVersion } from "../task/package.ts";
import { givenTo } from "./arguments/rewrite-argv.ts";
import { type CommandName, type Given, groups } from "./commands.ts";
import { didYouMean } from "./arguments/words.ts";
import type { Context } from "./context.ts";
import { addParts, type DeclaredCommand, exampleText, layOutHelp } from "./declare.ts";
import { type ExitCode, UsageError } from "./errors.ts";

type Run<Name extends CommandName> = (context: Context, given: Given<Name>) => Promise<ExitCode>;

/** The code of each command, which is loaded when it runs, so that help and completions are fast. */
const code: { readonly [Name in CommandName]: () => Promise<Run<Name>> } = {
  tools: async () => (await import("./command/tools.ts")).tools,
  call: async () => (await import("./command/call.ts")).call,
  search: async () => (await import("./command/list.ts")).search,
  open: async () => (await import("./command/session.ts")).open,
  shell: async () => (await import("./command/session.ts")).shell,
  close: async () => (await import("./command/session.ts")).close,
  servers: async () => (await import("./command/servers.ts")).listServers,
  "servers add": async () => (await import("./command/servers.ts")).addServer,
  "servers remove": async () => (await import("./command/servers.ts")).removeServer,
  trust: async () => (await import("./command/servers.ts")).trust,
  login: async () => (await import("./command/login.ts")).login,
  logout: async () => (await import("./command/login.ts")).logout,
  doctor: async () => (await import("./command/doctor.ts")).doctor,
  ping: async () => (await import("./command/doctor.ts")).ping,
  ls: async () => (await import("./command/list.ts")).list,
  result: async () => (await import("./command/task-commands.ts")).result,
  watch: async () => (await import("./command/task-commands.ts")).watch,
  get: async () => (await import("./command/task-commands.ts")).get,
  logs: async () => (await import("./command/task-commands.ts")).logs,
  answer: async () => (await import("./command/answer.ts")).answer,
  cancel: async () => (await import("./command/task-commands.ts")).cancel,
  forget: async () => (await import("./command/list.ts")).forget,
  resources: async () => (await import("./command/resources.ts")).resources,
  read: async () => (await import("./command/resources.ts")).read,
  prompts: async () => (await import("./command/resources.ts")).prompts,
  prompt: async () => (await import("./command/resources.ts")).prompt,
  complete: async () => (await import("./command/resources.ts")).complete,
  init: async () => (await import("./command/init.ts")).init,
  serve: async () => (await import("./command/serve.ts")).serve,
  replay: async () => (await import("./command/replay.ts")).replay,
  dashboard: async () => (await import("./command/store-commands.ts")).dashboard,
  inbox: async () => (await import("./command/store-commands.ts")).inbox,
  "journal ls": async () => (await import("./command/store-commands.ts")).listStored,
  "journal export": async () => (await import("./command/store-commands.ts")).exportTask,
  check: async () => (await import("./command/check.ts")).check,
  migrate: async () => (await import("./command/store-commands.ts")).migrate,
  docs: async () => {
    const { docs } = await import("./command/docs.ts");
    return async (context, { topic }) => docs(context, { words: topic });
  },
  completion: async () => (await import("./command/completion.ts")).completion,
};

/** The commands as commander parses them, for what was typed. Calls `end` with the exit code. */
export async function makeProgram(
  context: Context,
  end: (code: ExitCode) => void,
  words: readonly string[],
): Promise<Command> {
  const { stdout } = context.io;
  const program = new Command("holdfast")
    .description("Runs, watches, answers and cancels tasks of any MCP server.")
    .version(packageVersion)
    .exitOverride()
    .showHelpAfterError("(add --help for help)")
    .configureOutput({
      writeOut: (text) => context.output.begin(text),
      outputError: (text, write) => write(text.replace(/^error: /, "holdfast: ")),
      writeErr: (text) => void (context.output.json || context.output.note(text.trimEnd())),
    });
  for (const [heading, commands] of Object.entries(groups))
    for (const [path, declared] of Object.entries<DeclaredCommand>(commands)) {
      const command = addCommand(program, path, declared);
      if (command.parent === program) command.helpGroup(heading);
      if (!Object.hasOwn(code, path)) continue;
      const load = code[path as CommandName] as () => Promise<Run<never>>;
      command.action(async (...given: readonly unknown[]) => {
        const run = await load();
        end(await run(context, givenTo(command, given) as never));
      });
    }
  const admin = program.commands.find((each) => each.name() === "admin") ?? program;
  admin.allowExcessArguments().action(() => {
    const actions = [...adminActions(program)];
    const [, word] = admin.args;
    if (word === undefined)
      throw new UsageError(
        `Give a store and then a command, such as holdfast admin tasks.db list. There are ${actions.join(", ")}.`,
      );
    const meant = didYouMean(clientWords.get(word) ?? word, actions);
    throw new UsageError(
      `There is no command ${JSON.stringify(word)} of admin. ${meant || `There are ${actions.join(", ")}.`}`.trimEnd(),
    );
  });
  const isAdmin = words.some((word) => /\badmin\b/.test(word));
  if (isAdmin) (await import("./command/admin/operation-commands.ts")).addAdminCommands(admin, context, end);
  layOutHelp(program, stdout.isTTY ? stdout.columns : undefined);
  return program;
}

/** What clients' commands are called among those of `admin`. */
const clientWords: ReadonlyMap<string, string> = new Map([
  ["ls", "list"],
  ["get", "show"],
]);

/** The names of the commands of `admin`, which come after a store. */
export function adminActions(program: Command): ReadonlySet<string> {
  const admin = program.commands.find((each) => each.name() === "admin");
  return new Set(admin?.commands.map((each) => each.name()));
}

function addCommand(program: Command, path: string, declared: DeclaredCommand): Command {
  const { does, usage, examples = [] } = declared;
  const words = path.split(" ");
  const parent = program.commands.find((each) => words.length > 1 && each.name() === words[0]) ?? program;
  const command = parent.command(words.at(-1) ?? "").description(does);
  if (usage !== undefined) command.usage(usage);
  addParts(command, declared);
  if (examples.length > 0) command.addHelpText("after", exampleText(examples));
  return command;
}
