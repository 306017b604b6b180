import { InvalidArgumentError, type Command } from "commander";
import type { LoginOptions, LogoutOptions } from "./command/login.ts";
import type { ServersOptions, TrustOptions } from "./command/servers.ts";
import { collect, configHelp, jsonHelp, trustHelp } from "./common-options.ts";
import type { Context } from "./context.ts";
import type { ExitCode } from "./errors.ts";

const serverForms = "a URL, or a name from a config file with mcpServers";

/** `holdfast trust NAME`, `holdfast login SERVER` and `holdfast logout SERVER`. */
export function addAccessCommands(program: Command, context: Context, end: (code: ExitCode) => void): void {
  const command = (name: string, description: string): Command =>
    program
      .command(name)
      .description(description)
      .argument("<server>", serverForms)
      .option("--json", jsonHelp)
      .option("--config <file>", configHelp)
      .option("--trust", trustHelp);

  program
    .command("trust")
    .description("let commands use a server of the folder's .mcp.json")
    .argument("<name>", "its name in .mcp.json")
    .option("--revoke", "trust it no longer")
    .option("--json", jsonHelp)
    .action(async (name: string, options: TrustOptions) =>
      end(await (await import("./command/servers.ts")).trust(context, { name, options })),
    );

  const servers = program
    .command("servers")
    .description("list the servers of config files, or add one to your own")
    .option("--json", jsonHelp)
    .option("--config <file>", configHelp)
    .action(async (options: ServersOptions) =>
      end(await (await import("./command/servers.ts")).listServers(context, { options })),
    );
  servers
    .command("add")
    .description("add a server to your own config file, and leave the rest of it as it is")
    .argument("<name>", "the name for commands")
    .argument("<server>", "a URL, or a command line in quotes or after --")
    .option("--header <line>", 'an HTTP header, "Name: value"; can be repeated', collect)
    .option("--env <pair>", "a variable for a command, NAME=value; can be repeated", collect)
    .option("--force", "replace the entry of that name")
    .action(async (name: string, server: string, _: unknown, of: Command) =>
      end(
        await (
          await import("./command/servers.ts")
        ).addServer(context, { name, server, options: of.optsWithGlobals() }),
      ),
    );
  servers
    .command("remove")
    .description("remove a server from your own config file")
    .argument("<name>", "its name")
    .action(async (name: string, _: unknown, of: Command) =>
      end(
        await (
          await import("./command/servers.ts")
        ).removeServer(context, { name, options: of.optsWithGlobals() }),
      ),
    );

  command("login", "log in to a server, for all later commands")
    .option("--device", "log in on another device, with a code")
    .option("--no-browser", "print the login page's address without opening it")
    .option("--scope <scopes>", "the scopes to ask for, instead of those that the server names")
    .option("--client-id <id>", "use the client with this id instead of registering one")
    .option("--client-secret-file <file>", "a file with its secret, if not in HOLDFAST_CLIENT_SECRET")
    .option("--client-credentials", "log in as the client itself, without a user")
    .option("--client-metadata <url>", "use the client described by the document at this URL")
    .option("--issuer <url>", "log in at this authorization server only")
    .option("--timeout <seconds>", "how long to wait for you to log in (default: ten minutes)", seconds)
    .action(async (server: string, options: LoginOptions) =>
      end(await (await import("./command/login.ts")).login(context, { server, options })),
    );

  command("logout", "log out of a server and revoke its tokens").action(
    async (server: string, options: LogoutOptions) =>
      end(await (await import("./command/login.ts")).logout(context, { server, options })),
  );
}

function seconds(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !(number > 0)) throw new InvalidArgumentError("It must be a number above 0.");
  return number;
}
