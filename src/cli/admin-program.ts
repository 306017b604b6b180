import type { Command } from "commander";
import { givenTo } from "./arguments/rewrite-argv.ts";
import { operationCommands, runOperation, type Typed } from "./command/admin/operation-commands.ts";
import { type DatabaseCommands, databaseCommands } from "./database-commands.ts";
import type { Context } from "./context.ts";
import { addParts, databaseForms, type DeclaredCommand, json, placeForms } from "./declare.ts";
import type { ExitCode } from "./errors.ts";
import { exampleText } from "./help-layout.ts";

// The commands of `holdfast admin STORE`: those of operations, which have a table of their own, and those that need the store's database.
// The code of stores is loaded when one runs.

/** All commands of `admin`, by their names. */
export const adminCommands: Readonly<Record<string, DeclaredCommand>> = {
  ...Object.fromEntries(operationCommands.map(({ name, declared }) => [name, declared])),
  ...databaseCommands,
};

export function addAdminCommands(admin: Command, context: Context, end: (code: ExitCode) => void): void {
  for (const each of operationCommands) {
    const made = addCommand(admin, each.name, each.declared, placeForms);
    made.action(async (...given: readonly unknown[]) =>
      end(await runOperation(context, each, givenTo(made, given) as Typed)),
    );
  }
  for (const [name, declared] of Object.entries<DeclaredCommand>(databaseCommands)) {
    const made = addCommand(admin, name, declared, databaseForms);
    made.action(async (...given: readonly unknown[]) => {
      const { runOnDatabase } = await import("./command/admin/on-database.ts");
      const typed = givenTo(made, given) as { readonly store: string };
      end(await runOnDatabase(context, name as keyof DatabaseCommands, typed));
    });
  }
}

/** On the command line, the store comes before the command (`moveActionFirst`). */
function addCommand(admin: Command, name: string, declared: DeclaredCommand, storeForms: string): Command {
  const { does, args = [], options = [], examples = [] } = declared;
  const made = admin.command(name).description(does).configureHelp({ commandUsage: usage });
  made.allowExcessArguments(false).addHelpText("after", exampleText(examples));
  addParts(made, { args: [["<store>", storeForms], ...args], options: [json, ...options] });
  return made;
}

function usage(command: Command): string {
  const [store = "", ...others] = command
    .usage()
    .split(" ")
    .filter((word) => word !== "[options]");
  return ["holdfast admin", store, command.name(), ...others, "[options]"].join(" ");
}
