import { TaskClientError } from "../../client/task-client-error.ts";
import { databaseOfStore } from "../../store/from-url.ts";
import { migratePostgres, type PostgresMigration } from "../../store/postgres/migrate-postgres.ts";
import { HoldfastError } from "../../task/fault.ts";
import type { Given } from "../commands.ts";
import type { Context } from "../context.ts";
import { type ExitCode, UsageError } from "../errors.ts";

/** `holdfast migrate URL`: updates the schema of a store in Postgres. */
export async function migrate({ output }: Context, { url, options }: Given<"migrate">): Promise<ExitCode> {
  const { dryRun = false } = options;
  const done = await run(url, options);
  return output.say({ json: { ...done, dryRun }, text: `${described(done, dryRun)}\n` });
}

async function run(
  given: string,
  { schema, dryRun }: Given<"migrate">["options"],
): Promise<PostgresMigration> {
  try {
    const { url, options } = databaseOfStore(given);
    return await migratePostgres(url, {
      ...options,
      ...(schema !== undefined && { schema }),
      dryRun: dryRun === true,
    });
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    if (error.code === "store_unusable")
      throw new TaskClientError("connection", error.message, { cause: error });
    throw new UsageError(error.message);
  }
}

function described({ schema, from, to }: PostgresMigration, dryRun: boolean): string {
  const is = dryRun ? "would be" : "was";
  const step = from === 0 ? `${is} created: version ${to}` : `${is} migrated: version ${from} to ${to}`;
  return `Schema ${schema} ${from >= to ? `is up to date: version ${from}` : step}.`;
}
