import { Argument, Option, type Command } from "commander";
import type { OpenOptions } from "./command/session.ts";
import type { PromptOptions } from "./command/prompts.ts";
import type { ReadOptions } from "./command/resources.ts";
import {
  jsonHelp,
  maxCharsOption,
  saveOption,
  seconds,
  serverCommand,
  serverForms,
  timeoutOption,
} from "./common-options.ts";
import type { Context, WaitingOptions } from "./context.ts";
import type { ExitCode } from "./errors.ts";

/** The commands for MCP besides tools and tasks: resources, prompts, completions and ping. */
export function addBaseCommands(program: Command, context: Context, end: (code: ExitCode) => void): void {
  const command = (name: string, description: string): Command =>
    serverCommand(program, name, description)
      .argument("<server>", serverForms)
      .addOption(timeoutOption("how long to wait"));

  command("resources", "list a server's resources and templates").action(
    async (server: string, options: WaitingOptions) =>
      end(await (await import("./command/resources.ts")).resources(context, { server, options })),
  );

  command("read", "print a resource, or write its bytes to a pipe")
    .argument("<uri>", "the resource's URI")
    .option("-f, --follow", "print it again each time the server says that it has changed")
    .addOption(saveOption())
    .addOption(maxCharsOption())
    .action(async (server: string, uri: string, options: ReadOptions) =>
      end(await (await import("./command/resources.ts")).read(context, { server, uri, options })),
    );

  command("prompts", "list a server's prompts with their arguments").action(
    async (server: string, options: WaitingOptions) =>
      end(await (await import("./command/prompts.ts")).prompts(context, { server, options })),
  );

  command("prompt", "print a prompt, filled in with arguments")
    .argument("<name>", "the prompt's name")
    .argument("[pairs...]", "key=value, or key=@file")
    .addOption(saveOption())
    .action(async (server: string, name: string, pairs: string[], options: PromptOptions) =>
      end(await (await import("./command/prompts.ts")).prompt(context, { server, name, pairs, options })),
    );

  command("complete", "ask the server to complete an argument of a prompt or URI template")
    .addArgument(new Argument("<kind>", "what the argument belongs to").choices(["prompt", "resource"]))
    .argument("<name>", "the prompt's name, or the URI template")
    .argument("<pairs...>", "key=value; completes the last one, given those before it")
    .action(
      async (
        server: string,
        kind: "prompt" | "resource",
        name: string,
        pairs: string[],
        options: WaitingOptions,
      ) =>
        end(
          await (
            await import("./command/prompts.ts")
          ).complete(context, { server, kind, name, pairs, options }),
        ),
    );

  command("open", "keep a server's process or session between commands")
    .argument("<session>", "a name for it, such as @page")
    .addOption(
      new Option("--idle <seconds>", "end it after this time without a command")
        .argParser(seconds)
        .default(1800),
    )
    .action(async (server: string, session: string, options: OpenOptions) =>
      end(await (await import("./command/session.ts")).open(context, { server, session, options })),
    );
  program
    .command("close")
    .description("end a session, and its server's process")
    .argument("<session>", "its name")
    .option("--json", jsonHelp)
    .action(async (session: string, options: WaitingOptions) =>
      end(await (await import("./command/session.ts")).close(context, { session, options })),
    );
  program
    .command("shell")
    .description("read commands for a session from a prompt, or line by line from a pipe")
    .argument("<session>", "its name; holdfast @NAME is the same")
    .action(async (session: string) =>
      end(await (await import("./command/session.ts")).shell(context, { session })),
    );

  command("ping", "check that a server answers, and how fast").action(
    async (server: string, options: WaitingOptions) =>
      end(await (await import("./command/ping.ts")).ping(context, { server, options })),
  );
}
