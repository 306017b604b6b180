import { Argument, type Command } from "commander";
import type { PromptOptions } from "./command/prompts.ts";
import type { ReadOptions } from "./command/resources.ts";
import { maxCharsOption, saveOption, serverCommand, serverForms, timeoutOption } from "./common-options.ts";
import type { Context, WaitingOptions } from "./context.ts";
import type { ExitCode } from "./exit-code.ts";

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
            await import("./command/complete.ts")
          ).complete(context, { server, kind, name, pairs, options }),
        ),
    );

  command("ping", "check that a server answers, and how fast").action(
    async (server: string, options: WaitingOptions) =>
      end(await (await import("./command/ping.ts")).ping(context, { server, options })),
  );
}
