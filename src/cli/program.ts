import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { addBaseCommands } from "./base-program.ts";
import {
  databaseForms,
  jsonHelp,
  maxCharsOption,
  pairForms,
  placeForms,
  serverCommand as command,
  saveOption,
  serverForms,
  timeoutOption,
} from "./common-options.ts";
import { restoreId } from "./arguments/rewrite-argv.ts";
import { packageVersion } from "../task/package.ts";
import type { AnswerOptions } from "./command/answer.ts";
import type { CallOptions } from "./command/call.ts";
import type { CheckOptions } from "./command/check.ts";
import type { ExportOptions } from "./command/journal.ts";
import { addAccessCommands } from "./access-program.ts";
import { layOutHelp } from "./help-layout.ts";
import type { InboxCommandOptions } from "./command/inbox.ts";
import type { InitOptions } from "./command/init.ts";
import type { ListOptions } from "./command/list.ts";
import type { MigrateOptions } from "./command/migrate.ts";
import type { LogsOptions, OutcomeOptions } from "./command/task-commands.ts";
import type { ServeCommandOptions } from "./command/serve.ts";
import { shells, type Shell } from "./completion/scripts.ts";
import type { Context, WaitingOptions } from "./context.ts";
import { type ExitCode, UsageError } from "./errors.ts";
import type { DashboardCommandOptions } from "./command/dashboard.ts";

const taskForms = "the task's id or the start of it, its number in the last list, or last";

/**
 * The commands and their options, for what was typed. Calls `end` with the exit code. Loads each command when it runs, and those of `admin`,
 * which come from a table, when they are asked for, so that help and completions are fast.
 */
export async function makeProgram(
  context: Context,
  end: (code: ExitCode) => void,
  words: readonly string[],
): Promise<Command> {
  const { stdout, stderr } = context.io;
  const program = new Command("holdfast")
    .description("Runs, watches, answers and cancels tasks of any MCP server.")
    .version(packageVersion)
    .exitOverride()
    .showHelpAfterError("(add --help for help)")
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, "holdfast: ")),
      writeErr: (text) => void (context.output.json || stderr.write(text)),
    });

  command(program, "call", "call a tool and wait for its result")
    .argument("<server>", serverForms)
    .argument("<tool>", "the tool's name")
    .argument("[pairs...]", pairForms)
    .option("--args <json>", "more arguments: a JSON object, @file, or - for stdin")
    .option("--detach", "print the task's id and do not wait")
    .addOption(saveOption().conflicts("detach"))
    .addOption(maxCharsOption())
    .addOption(timeoutOption())
    .action(async (server: string, tool: string, pairs: string[], options: CallOptions) =>
      end(await (await import("./command/call.ts")).call(context, { server, tool, pairs, options })),
    );

  command(program, "doctor", "test a server: what works, what does not, and why")
    .argument("<server>", `${serverForms}; or sqlite:PATH, for the files of a store; or a file of serve`)
    .addOption(timeoutOption("how long to wait"))
    .action(async (server: string, options: WaitingOptions) =>
      end(await (await import("./command/doctor.ts")).doctor(context, { server, options })),
    );

  command(program, "ls", "list the tasks you started, until a week after they end")
    .option("--all", "include older ones that their servers still keep")
    .option("--refresh", "ask each server for the state of its tasks")
    .option("--server <server>", "only tasks of this server")
    .addOption(timeoutOption("how long to wait for each server with --refresh (default: 30)"))
    .action(async (options: ListOptions) =>
      end(await (await import("./command/list.ts")).list(context, { options })),
    );

  const aboutTask = (name: string, description: string): Command =>
    command(program, name, description)
      .argument("<id>", taskForms, restoreId)
      .option("--server <server>", "the server, for a task that was started elsewhere")
      .addOption(timeoutOption());
  const simple = {
    get: async () => (await import("./command/task-commands.ts")).get,
    watch: async () => (await import("./command/task-commands.ts")).watch,
    result: async () => (await import("./command/task-commands.ts")).result,
    cancel: async () => (await import("./command/task-commands.ts")).cancel,
  };
  const descriptions = {
    get: "show the state of a task",
    watch: "show a task's progress until it ends, then print its result",
    result: "wait for a task and print its result",
    cancel: "cancel a task",
  };
  for (const name of ["get", "watch", "result", "cancel"] as const) {
    const about = aboutTask(name, descriptions[name]);
    if (name === "watch" || name === "result") about.addOption(saveOption()).addOption(maxCharsOption());
    about.action(async (id: string, options: OutcomeOptions) =>
      end(await (await simple[name]())(context, { id, options })),
    );
  }
  aboutTask("logs", "print a task's log")
    .option("-f, --follow", "keep printing until the task has ended")
    .option("--output", "print its output so far instead")
    .action(async (id: string, options: LogsOptions) =>
      end(await (await import("./command/task-commands.ts")).logs(context, { id, options })),
    );
  aboutTask("answer", "answer a task's question, with the given values or on the terminal")
    .argument("[pairs...]", "key=value, converted by the question's schema, key:=json, or key=@file")
    .option("--args <json>", "more values: a JSON object, @file, or - for stdin")
    .option("--accept", "agree to a question that asks for no values")
    .option("--decline", "decline to answer")
    .option("--cancel-question", "dismiss the question without answering it")
    .option("--question <key>", "the question's key, if several are open")
    .action(async (id: string, pairs: string[], options: AnswerOptions) =>
      end(await (await import("./command/answer.ts")).answer(context, { id, pairs, options })),
    );
  program
    .command("forget")
    .description("remove tasks from the list, for example when their server is gone")
    .argument("[id...]", taskForms)
    .option("--lost", "all that their servers did not know when they were last asked")
    .option("--json", jsonHelp)
    .action(async (ids: readonly string[], options: { readonly lost?: true }) =>
      end(await (await import("./command/list.ts")).forget(context, { ids: ids.map(restoreId), options })),
    );

  addBaseCommands(program, context, end);
  const admin = program
    .command("admin")
    .usage("<store> <command> [options]")
    .description("inspect and manage a server's tasks")
    .argument("[store]", placeForms)
    .allowExcessArguments()
    .action(() => {
      throw new UsageError(`Give a command after the store: ${[...adminActions(program)].join(", ")}.`);
    });
  if (words.some((word) => /\badmin\b/.test(word)))
    (await import("./admin-program.ts")).addAdminCommands(admin, context, end);
  addDashboardCommand(program, context, end);
  addAccessCommands(program, context, end);

  const journal = program
    .command("journal")
    .description("look at the tasks in a server's store, even while the server is stopped");
  journal
    .command("ls")
    .description("list the unfinished tasks, with the versions of their tools")
    .argument("<store>", databaseForms)
    .option("--json", jsonHelp)
    .action(async (store: string) =>
      end(await (await import("./command/journal.ts")).listStored(context, { store })),
    );
  journal
    .command("export")
    .description("print everything stored about a task as JSON, for checkReplay")
    .argument("<store>", databaseForms)
    .argument("<id>", "the task's full id")
    .option("--output <file>", "write to this file instead of stdout")
    .option("--json", "print errors as JSON too")
    .action(async (store: string, id: string, options: ExportOptions) =>
      end(await (await import("./command/journal.ts")).exportTask(context, { store, id, options })),
    );

  program
    .command("check")
    .description("check that new code of tools continues recorded tasks")
    .argument("<journals...>", "files or folders of journal export or admin export, or - for stdin")
    .requiredOption("--tools <file>", "the module that exports the tools")
    .option("--json", jsonHelp)
    .action(async (journals: readonly string[], options: CheckOptions) =>
      end(await (await import("./command/check.ts")).check(context, { journals, options })),
    );

  program
    .command("init")
    .description("write a starter project: a server, a client, a test and a Dockerfile")
    .argument("[dir]", "the project's folder", ".")
    .option("--tarball <file>", "a packed Holdfast to copy into the project")
    .option("--json", jsonHelp)
    .action(async (dir: string, options: InitOptions) =>
      end(await (await import("./command/init.ts")).init(context, { dir, options })),
    );

  program
    .command("serve")
    .description("serve programs, APIs and other MCP servers as durable tools, as a file says")
    .argument("[file]", "the file, YAML or JSON (default: tools.yaml)")
    .argument("[pairs...]", "with --dry-run: the arguments, as for call")
    .usage("[options] [file] | --upstream <url> | -- <command>")
    .option("--check", "look for mistakes, programs and servers, and serve nothing")
    .option("--dry-run <tool>", "print what a call of this tool would run or send, and run nothing")
    .option("--init", "write the file, with examples and comments")
    .option("--schema", "print the JSON Schema of the file, for editors")
    .option("--stdio", "serve the one client on stdin and stdout, whatever the file says")
    .option("--port <port>", "the port to listen on, whatever the file says", port)
    .option("--upstream <url>", "serve the tools of this MCP server, without a file")
    .addOption(new Option("--program <line>").hideHelp())
    .action(async (file: string | undefined, pairs: string[], options: ServeCommandOptions) => {
      const given = file === undefined ? [] : [file, ...pairs];
      end(await (await import("./command/serve.ts")).serve(context, { words: given, options }));
    });

  program
    .command("inbox")
    .description("show the results that a conversation of an agent has not taken, or hand them to a program")
    .argument("<store>", databaseForms)
    .argument("<conversation>", "its id, as the agent names it")
    .option(
      "--exec <program>",
      "run it with each result as JSON on its stdin; its exit code 0 acknowledges the result",
    )
    .option("--follow", "with --exec: wait for further results, until Ctrl-C")
    .option("--json", jsonHelp)
    .action(async (place: string, id: string, options: InboxCommandOptions) =>
      end(await (await import("./command/inbox.ts")).inbox(context, { place, id, options })),
    );

  program
    .command("migrate")
    .description("bring the schema of a Postgres store up to date")
    .argument(
      "<url>",
      "postgres://HOST/DATABASE, with a role that may change it; its password can be in PGPASSWORD",
    )
    .option("--schema <name>", "the store's schema, if not holdfast")
    .option("--dry-run", "print what would be done, and change nothing")
    .option("--json", jsonHelp)
    .action(async (url: string, options: MigrateOptions) =>
      end(await (await import("./command/migrate.ts")).migrate(context, { url, options })),
    );

  command(program, "tools", "list a server's tools, or show one with an example call")
    .argument("<server>", serverForms)
    .argument("[tool]", "show only this tool, in full")
    .addOption(timeoutOption("how long to wait"))
    .action(async (server: string, tool: string | undefined, options: WaitingOptions) =>
      end(await (await import("./command/tools.ts")).tools(context, { server, tool, options })),
    );
  program
    .command("search")
    .description("find tools of all servers that you have listed, by their words")
    .argument("<words...>", "all of them are in the name or the description")
    .option("--json", jsonHelp)
    .action(async (wanted: readonly string[]) =>
      end(await (await import("./command/search.ts")).search(context, { words: wanted })),
    );
  program
    .command("docs")
    .description("print a page of the documentation, or what an error code means")
    .argument("[topic...]", "a page, an error code, or words of a heading (default: list the pages)")
    .option("--json", jsonHelp)
    .action(async (about: readonly string[]) =>
      end(await (await import("./command/docs.ts")).docs(context, { words: about })),
    );
  program
    .command("replay")
    .description("answer over stdio as a recorded server did, without it")
    .argument("<file>", "what --record wrote")
    .action(async (file: string) =>
      end(await (await import("./command/replay.ts")).replay(context, { file })),
    );
  program
    .command("completion")
    .description("print a shell script that completes commands, servers, tools and tasks")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .action(async (shell: Shell) =>
      end(await (await import("./command/completion.ts")).completion(context, { shell })),
    );
  layOutHelp(program, stdout.isTTY ? stdout.columns : undefined);
  return program;
}

/** The names of the commands of `admin`, which come after a store. */
export function adminActions(program: Command): ReadonlySet<string> {
  const admin = program.commands.find((each) => each.name() === "admin");
  return new Set(admin?.commands.map((each) => each.name()));
}

/** `holdfast dashboard STORE`. */
export function addDashboardCommand(program: Command, context: Context, end: (code: ExitCode) => void): void {
  program
    .command("dashboard")
    .description("serve a page to inspect and manage a server's tasks, until Ctrl-C")
    .argument("<store>", placeForms)
    .option("--port <port>", "the port to listen on; 0 is any free one", port, 0)
    .option(
      "--host <address>",
      "the address to listen on; if others can reach it, anyone with the link can use the page",
      "127.0.0.1",
    )
    .option("--path <path>", "the path of the page", "/holdfast")
    .option("--read-only", "show tasks, but allow no actions")
    .option("--as <name>", "the name to record with actions (default: your user name)")
    .option("--blobs <folder>", "the files that tasks keep there, outside of the store")
    .option("--json", "print JSON; holdfast docs cli-json describes it")
    .action(async (place: string, options: DashboardCommandOptions) =>
      end(await (await import("./command/dashboard.ts")).dashboard(context, { place, options })),
    );
}

function port(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isInteger(number) || number < 0 || number > 65_535)
    throw new InvalidArgumentError("It must be a whole number from 0 to 65535.");
  return number;
}
