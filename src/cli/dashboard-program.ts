import { InvalidArgumentError, type Command } from "commander";
import { placeForms } from "./admin-program.ts";
import type { DashboardCommandOptions } from "./command/dashboard.ts";
import type { Context } from "./context.ts";
import type { ExitCode } from "./exit-code.ts";

/** `holdfast dashboard STORE`. */
export function addDashboardCommand(program: Command, context: Context, end: (code: ExitCode) => void): void {
  program
    .command("dashboard")
    .description("serve a page to inspect and manage a server's tasks, until Ctrl-C")
    .argument("<store>", placeForms)
    .option("--port <port>", "the port to listen on (default: any free one)", port, 0)
    .option(
      "--host <address>",
      "the address to listen on; if others can reach it, anyone with the link can use the page",
      "127.0.0.1",
    )
    .option("--path <path>", "the path of the page", "/holdfast")
    .option("--read-only", "show tasks, but allow no actions")
    .option("--as <name>", "the name recorded with actions; by default that of the system's user")
    .option("--json", "print JSON; docs/cli.md describes it")
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
