import type { Command } from "commander";
import type { ShowBulkOptions } from "./command/admin/act-on-many.ts";
import type { TopOptions } from "./command/admin/top.ts";
import type { Context } from "./context.ts";
import { addDatabaseCommands } from "./command/admin/database-commands.ts";
import type { ExitCode } from "./errors.ts";
import { databaseForms, jsonHelp, placeForms } from "./declare.ts";
import { exampleText } from "./help-layout.ts";
import { adminExamples } from "./command/admin/examples.ts";
import { addOperationCommands } from "./command/admin/operation-commands.ts";

/** `holdfast admin STORE …`: lets operators read a store and act on its tasks. */
export function addAdminCommands(admin: Command, context: Context, end: (code: ExitCode) => void): void {
  /** On the command line, the store comes before the command (`moveActionFirst`). */
  const command = (name: string, description: string, storeForms = placeForms): Command =>
    admin
      .command(name)
      .description(description)
      .configureHelp({ commandUsage: usage })
      .allowExcessArguments(false)
      .argument("<store>", storeForms)
      .option("--json", jsonHelp);
  const acting = (name: string, description: string): Command =>
    command(name, description).option(
      "--as <name>",
      "record actions under this name instead of your user name",
    );

  addOperationCommands((name, words, isAct) => (isAct ? acting : command)(name, words), context, end);
  command("top", "watch tools and unfinished tasks live; press q to quit")
    .option("--once", "print it once and exit")
    .action(async (place: string, options: TopOptions) =>
      end(await (await import("./command/admin/top.ts")).top(context, { place, options })),
    );

  acting("bulk", "show how far a command with --all is, or stop it")
    .argument("<job>", "the job that --json and actions name")
    .option("--cancel", "stop it; what is done stays done")
    .action(async (place: string, id: string, options: ShowBulkOptions) =>
      end(await (await import("./command/admin/act-on-many.ts")).showBulk(context, { place, id, options })),
    );

  const ofDatabase = (name: string, description: string): Command =>
    command(name, description, databaseForms);
  addDatabaseCommands(ofDatabase, context, end);
  for (const each of admin.commands) each.addHelpText("after", exampleText(adminExamples[each.name()] ?? []));
}

function usage(command: Command): string {
  const [store = "", ...others] = command
    .usage()
    .split(" ")
    .filter((word) => word !== "[options]");
  return ["holdfast admin", store, command.name(), ...others, "[options]"].join(" ");
}
