import { InvalidArgumentError, type Command } from "commander";
import { placeForms } from "./admin-program.ts";
import type { DashboardCommandOptions } from "./command/dashboard.ts";
import type { Context } from "./context.ts";
import type { ExitCode } from "./exit-code.ts";

/** `holdfast dashboard STORE`. */
export function addDashboardCommand(program: Command, context: Context, end: (code: ExitCode) => void): void {
  program
    .command("dashboard")
    .description("serve a page that shows what a server's tasks do, and acts on them; Ctrl-C ends it")
    .argument("<store>", placeForms)
    .option("--port <port>", "where to listen, instead of any free port", port, 0)
    .option(
      "--host <address>",
      "on which address; others than this machine's own let others in who have the link",
      "127.0.0.1",
    )
    .option("--path <path>", "the path of the page", "/holdfast")
    .option("--read-only", "let nobody act")
    .option("--as <name>", "who acts, which is recorded; otherwise the user of the operating system")
    .option("--json", "print JSON; docs/cli.md describes it")
    .action(async (place: string, options: DashboardCommandOptions) =>
      end(await (await import("./command/dashboard.ts")).dashboard(context, { place, options })),
    );
}

function port(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isInteger(number) || number < 0 || number > 65_535)
    throw new InvalidArgumentError("It has to be a whole number from 0 to 65535.");
  return number;
}
