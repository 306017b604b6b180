import type { Command } from "commander";
import type { DeletePrincipalOptions } from "./command/admin/delete-principal.ts";
import type { GcOptions } from "./command/admin/gc.ts";
import type { SelectionOptions } from "./command/admin/selection.ts";
import type { RestoreOptions } from "./command/admin/restore.ts";
import type { Context } from "./context.ts";
import type { ExitCode } from "./exit-code.ts";

export interface CommandMakers {
  readonly command: (name: string, description: string) => Command;
  /** Gives a command the options that select tasks. */
  readonly selecting: (command: Command) => Command;
}

/** The commands of `holdfast admin STORE` that work with the database of the store itself. */
export function addDataCareCommands(
  { command, selecting }: CommandMakers,
  context: Context,
  end: (code: ExitCode) => void,
): void {
  command("backup", "back the store up to a file, while servers go on")
    .argument("<file>", "the file, which is not there yet")
    .action(async (place: string, file: string) =>
      end(await (await import("./command/admin/backup.ts")).backup(context, { place, file })),
    );
  command("restore", "make a store of a backup, where there is none")
    .argument("<file>", "the backup")
    .option("--beside", "let the store be opened although servers have the original open")
    .action(async (place: string, file: string, options: RestoreOptions) =>
      end(await (await import("./command/admin/restore.ts")).restore(context, { place, file, options })),
    );
  selecting(command("export", "print all that is stored of tasks, as a line of JSON each")).action(
    async (place: string, options: SelectionOptions) =>
      end(await (await import("./command/admin/export-tasks.ts")).exportTasks(context, { place, options })),
  );
  command("gc", "delete what has expired, and give its space back")
    .option("--full", "give all free space back, though servers that have the store open wait meanwhile")
    .action(async (place: string, options: GcOptions) =>
      end(await (await import("./command/admin/gc.ts")).gc(context, { place, options })),
    );
  command("delete-principal", "delete all that the store has of a caller")
    .argument("<principal>", "the caller")
    .option("--yes", "do not ask")
    .option("--grace <time>", "how long handlers that run may take to end by themselves", "10s")
    .action(async (place: string, principal: string, options: DeletePrincipalOptions) =>
      end(
        await (
          await import("./command/admin/delete-principal.ts")
        ).deletePrincipal(context, { place, principal, options }),
      ),
    );
}
