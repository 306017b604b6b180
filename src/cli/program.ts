import { Command, InvalidArgumentError, Option } from "commander";
import { packageVersion } from "../client/package-version.ts";
import { call, type CallOptions } from "./command/call.ts";
import { tools } from "./command/tools.ts";
import type { Context, ServerOptions } from "./context.ts";
import type { ExitCode } from "./exit-code.ts";

const serverForms = "a URL, a quoted command line, or a name from a config file with mcpServers";

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
    .option("--json", "print JSON, in the shape that docs/cli.md tells")
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
