import type { Command } from "commander";
import type { DeletePrincipalOptions } from "./command/admin/delete-principal.ts";
import type { DumpOptions } from "./command/admin/dump.ts";
import type { GcOptions } from "./command/admin/gc.ts";
import type { LoadOptions } from "./command/admin/load.ts";
import type { SelectionOptions } from "./command/admin/selection.ts";
import type { RotateSecretsOptions } from "./command/admin/rotate-secrets.ts";
import type { Context } from "./context.ts";
import type { ExitCode } from "./exit-code.ts";

export interface CommandMakers {
  readonly command: (name: string, description: string) => Command;
  /** Adds the options that select tasks to a command. */
  readonly selecting: (command: Command) => Command;
}

/** The commands of `holdfast admin STORE` that need the store's database. */
export function addDataCareCommands(
  { command, selecting }: CommandMakers,
  context: Context,
  end: (code: ExitCode) => void,
): void {
  command("dump", "copy the store to a file while servers keep running")
    .argument("<file>", "the new file")
    .option("--since <file>", "write only what changed since this earlier dump of the store")
    .action(async (place: string, file: string, options: DumpOptions) =>
      end(await (await import("./command/admin/dump.ts")).dump(context, { place, file, options })),
    );
  command("load", "fill an empty store from a dump, of SQLite or Postgres")
    .argument("<file>", "the dump")
    .option("--partial", "keep servers out until a later dump has been loaded too")
    .option("--beside", "let the store be opened while servers have the original open")
    .action(async (place: string, file: string, options: LoadOptions) =>
      end(await (await import("./command/admin/load.ts")).load(context, { place, file, options })),
    );
  selecting(command("export", "print everything stored about tasks, one line of JSON each")).action(
    async (place: string, options: SelectionOptions) =>
      end(await (await import("./command/admin/export-tasks.ts")).exportTasks(context, { place, options })),
  );
  command("gc", "delete what has expired, and free its space")
    .option("--full", "free all unused space; servers that use the store wait meanwhile")
    .action(async (place: string, options: GcOptions) =>
      end(await (await import("./command/admin/gc.ts")).gc(context, { place, options })),
    );
  command("keys", "show what each encryption key is still needed for").action(async (place: string) =>
    end(await (await import("./command/admin/keys.ts")).keys(context, { place })),
  );
  command("reseal", "encrypt everything in the store with its first key, while servers run").action(
    async (place: string) =>
      end(await (await import("./command/admin/reseal.ts")).reseal(context, { place })),
  );
  command("rotate-secrets", "replace the secrets that the store made for its servers")
    .option("--accept <time>", "how long what was made with the old ones counts; 0s: no longer", "1h")
    .action(async (place: string, options: RotateSecretsOptions) =>
      end(
        await (
          await import("./command/admin/rotate-secrets.ts")
        ).rotateStoreSecrets(context, { place, options }),
      ),
    );
  command("delete-principal", "delete everything the store has about a caller")
    .argument("<principal>", "the caller")
    .option("--yes", "skip the confirmation")
    .option("--grace <time>", "how long running handlers may take to finish", "10s")
    .action(async (place: string, principal: string, options: DeletePrincipalOptions) =>
      end(
        await (
          await import("./command/admin/delete-principal.ts")
        ).deletePrincipal(context, { place, principal, options }),
      ),
    );
}
