import { Command, InvalidArgumentError, Option } from "commander";
import { unmarkId } from "./arguments/marked-id.ts";
import { packageVersion } from "../client/package-version.ts";
import { answer, type AnswerOptions } from "./command/answer.ts";
import { call, type CallOptions } from "./command/call.ts";
import { cancel } from "./command/cancel.ts";
import { doctor } from "./command/doctor.ts";
import { forget } from "./command/forget.ts";
import { get } from "./command/get.ts";
import { list, type ListOptions } from "./command/list.ts";
import { tools } from "./command/tools.ts";
import { result, watch } from "./command/wait.ts";
import type { Context, ServerOptions, TaskOptions } from "./context.ts";
import type { ExitCode } from "./exit-code.ts";

const serverForms = "a URL, a quoted command line, or a name from a config file with mcpServers";

const jsonHelp = "print JSON, in the shape that docs/cli.md tells";

/** The commands with their options; `end` is told how the one that ran ended. */
export function makeProgram(context: Context, end: (code: ExitCode) => void): Command {
  const { stdout, stderr } = context.io;
  const program = new Command("holdfast")
    .description("Runs, watches, answers and cancels tasks on any MCP server.")
    .version(packageVersion)
    .exitOverride()
    .showHelpAfterError("(add --help for help)")
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void (context.output.json || stderr.write(text)),
    });

  command(program, "call", "calls a tool, and waits for its result")
    .argument("<server>", serverForms)
    .argument("<tool>", "the tool's name")
    .argument(
      "[pairs...]",
      "key=value, typed by the tool's schema; key:=json; a key that repeats makes a list",
    )
    .option("--args <json>", "more arguments: a JSON object, @file, or - for stdin")
    .option("--detach", "print the task's id, and do not wait")
    .addOption(timeout())
    .action(async (server: string, tool: string, pairs: string[], options: CallOptions) =>
      end(await call(context, { server, tool, pairs, options })),
    );

  command(program, "doctor", "tells what works with a server, what does not, and why")
    .argument("<server>", serverForms)
    .action(async (server: string, options: ServerOptions) =>
      end(await doctor(context, { server, options })),
    );

  command(program, "ls", "lists the tasks that were started here and whose end nobody saw")
    .option("--refresh", "ask each server how its tasks stand")
    .option("--server <server>", "SERVER, to list its tasks only")
    .action(async (options: ListOptions) => end(await list(context, { options })));

  const aboutTask = (name: string, description: string): Command =>
    command(program, name, description)
      .argument("<id>", "the task's id, or as much of it as tells it from the others", unmarkId)
      .option("--server <server>", "SERVER, for a task that was started elsewhere")
      .addOption(timeout());
  const simple = { get, watch, result, cancel };
  const descriptions = {
    get: "tells how a task stands",
    watch: "tells each state of a task until its end, and prints the result",
    result: "waits for a task, and prints its result",
    cancel: "cancels a task",
  };
  for (const name of ["get", "watch", "result", "cancel"] as const) {
    aboutTask(name, descriptions[name]).action(async (id: string, options: TaskOptions) =>
      end(await simple[name](context, { id, options })),
    );
  }
  aboutTask("answer", "answers what a task asks: by what is given, or by asking on the terminal")
    .argument("[pairs...]", "key=value and key:=json, typed by what is asked")
    .option("--args <json>", "more values: a JSON object, @file, or - for stdin")
    .option("--accept", "agree, where no values are asked for")
    .option("--decline", "refuse to answer")
    .option("--cancel-question", "leave the question without an answer; the task is told so")
    .option("--question <key>", "the question's key, where several are open")
    .action(async (id: string, pairs: string[], options: AnswerOptions) =>
      end(await answer(context, { id, pairs, options })),
    );
  program
    .command("forget")
    .description("takes a task off the list of ls, such as one whose server is gone")
    .argument("<id>", "its id, or as much of it as tells it from the others", unmarkId)
    .option("--json", jsonHelp)
    .action(async (id: string) => end(await forget(context, { id })));

  command(program, "tools", "lists a server's tools")
    .argument("<server>", serverForms)
    .action(async (server: string, options: ServerOptions) => end(await tools(context, { server, options })));
  return program;
}

/** A command with the options that all have. */
function command(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option("--json", jsonHelp)
    .option("--config <file>", "the file with mcpServers, in place of .mcp.json and your own")
    .option(
      "--token <token>",
      "a bearer token; other users of this machine can see options, but not HOLDFAST_TOKEN",
    )
    .option("--header <line>", 'an HTTP header, "Name: value"; can repeat', collect);
}

function timeout(): Option {
  return new Option("--timeout <seconds>", "stop waiting; the task goes on").argParser((text) => {
    const seconds = Number(text);
    if (text.trim() === "" || !(seconds >= 0))
      throw new InvalidArgumentError("It has to be a number from 0 on.");
    return seconds;
  });
}

function collect(line: string, before: readonly string[] = []): readonly string[] {
  return [...before, line];
}
